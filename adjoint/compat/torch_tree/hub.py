"""torch.hub: files and models by their addresses, kept in a folder of downloads.

What is already there is taken from there; all else is fetched with urllib, so that an address
may be that of a file too. Models come from folders only: repositories are not downloaded.
"""

import builtins
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from urllib.parse import urlparse

from adjoint.compat.torch_tree.serialization import load as _load_file

try:
    from tqdm import tqdm as tqdm  # type: ignore[import-untyped]  # it has no types
except ImportError:  # it is optional, here as in PyTorch

    class tqdm:  # type: ignore[no-redef]  # tqdm's name
        """A bar that shows nothing, where the package of that name is not installed."""

        def __init__(self, iterable: Any = (), *args: Any, **options: Any) -> None:
            self.iterable = iterable

        def __iter__(self) -> Iterator[Any]:
            return iter(self.iterable)

        def update(self, n: float = 1) -> None:
            """Progress that nobody sees."""

        def close(self) -> None:
            """Nothing to close."""

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *exc: object) -> None:
            """Nothing to close."""


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # how a file's name gives the start of its SHA-256
_CONFIGURATION = "hubconf.py"

_chosen: dict[str, str] = {}  # what the program has set


def _get_torch_home() -> str:
    """The folder that PyTorch keeps what it downloads in."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
    return str(Path(os.environ.get("TORCH_HOME", cache / "torch")).expanduser())


def get_dir() -> str:
    """The folder that downloads are kept in."""
    return _chosen.get("dir") or str(Path(_get_torch_home()) / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep downloads in another folder."""
    _chosen["dir"] = str(Path(d).expanduser())


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file; it appears whole, and with the right SHA-256, or not at all."""
    place = Path(dst).expanduser()
    digest = hashlib.sha256()
    with (
        urllib.request.urlopen(url) as source,  # noqa: S310  # the caller's own address
        tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as partial,
    ):
        try:
            while portion := source.read(1 << 16):
                partial.write(portion)
                digest.update(portion)
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f"invalid hash value of {url}: expected {hash_prefix!r}, "
                    f"got {digest.hexdigest()!r}"
                )
            partial.close()
            shutil.move(partial.name, place)
        finally:
            Path(partial.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What torch.load finds in the file of an address, which is fetched if it is not there yet."""
    folder = Path(model_dir or Path(get_dir()) / "checkpoints")
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or Path(urlparse(url).path).name
    place = folder / name
    if not place.exists():
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(place), found.group(1) if found else None, progress)
    return _load_file(place, map_location, weights_only=weights_only)


def _configuration(place: str) -> ModuleType:
    """The module that lists a folder's models; it may import what lies beside it."""
    path = Path(place) / _CONFIGURATION
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"torch.hub: there is no {_CONFIGURATION} in {place}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, place)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(place)
    return module


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """A model that a folder's hubconf.py makes; a repository must have been downloaded before."""
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(option, None)
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    place = repo_or_dir if source == "local" else _downloaded(repo_or_dir)
    make = _maker(_configuration(os.path.realpath(place)), model, place)
    return make(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """The names of the models that a repository has, which must have been downloaded before."""
    found = _configuration(_downloaded(github))
    return [name for name in dir(found) if callable(getattr(found, name)) and name[0] != "_"]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
) -> str | None:
    """What such a model's own help says."""
    text: str | None = _maker(_configuration(_downloaded(github)), model, github).__doc__
    return text


def _maker(configuration: ModuleType, model: str, place: str) -> Any:
    """What makes a model of a folder."""
    make = getattr(configuration, model, None)
    if not callable(make):
        raise RuntimeError(f"Cannot find callable {model} in hubconf of {place}")
    return make


def _downloaded(repository: str) -> str:
    """The folder in which PyTorch has put a repository, owner/name:reference."""
    name, _, reference = repository.partition(":")
    start = name.replace("/", "_") + "_"
    folders = (
        [start + reference.replace("/", "_")] if reference else [start + "main", start + "master"]
    )
    for folder in folders:
        place = Path(get_dir()) / folder
        if place.is_dir():
            return str(place)
    raise RuntimeError(
        f"torch.hub.load: {repository} is not in {get_dir()}, and repositories are not downloaded; "
        'get it yourself and use source="local"'
    )
