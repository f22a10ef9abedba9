"""torch.hub: files by their addresses, and models of folders."""

import hashlib
import pickle

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch import hub


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def saved(folder, name="weights.pt"):
    """A file with a state dict, and the file's SHA-256."""
    path = folder / name
    compat.save({"weight": compat.arange(3.0)}, path)
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_files_are_kept_below_torch_s_home(home, monkeypatch):
    assert hub.get_dir() == str(home / "hub")
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert hub.get_dir() == str(home / "torch" / "hub")


def test_another_folder_can_be_chosen(tmp_path, monkeypatch):
    from adjoint.compat.torch_tree import hub as own

    monkeypatch.setattr(own, "_chosen", {})
    hub.set_dir(tmp_path)
    assert hub.get_dir() == str(tmp_path)


def test_a_file_is_fetched_once(home, tmp_path):
    path, _ = saved(tmp_path)
    found = hub.load_state_dict_from_url(path.as_uri(), map_location="cpu")
    assert found["weight"].tolist() == [0, 1, 2]
    path.unlink()
    assert (home / "hub" / "checkpoints" / "weights.pt").exists()
    again = compat.utils.model_zoo.load_url(path.as_uri())
    assert again["weight"].tolist() == [0, 1, 2]


class Program:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("the file has run a program",))


def test_a_program_is_not_run_where_weights_alone_are_asked_for(home, tmp_path):
    path = tmp_path / "program.pt"
    compat.save({"weight": Program()}, path)
    with pytest.raises(pickle.UnpicklingError):
        hub.load_state_dict_from_url(path.as_uri(), weights_only=True)


def test_a_wrong_hash_leaves_no_file(home, tmp_path):
    path, digest = saved(tmp_path)
    kept = tmp_path / "kept.pt"
    with pytest.raises(RuntimeError, match="invalid hash"):
        hub.download_url_to_file(path.as_uri(), str(kept), hash_prefix="0" * 8)
    assert sorted(tmp_path.iterdir()) == [path]
    hub.download_url_to_file(path.as_uri(), str(kept), hash_prefix=digest[:8])
    assert kept.read_bytes() == path.read_bytes()


def test_the_hash_is_taken_from_the_name(home, tmp_path):
    path, digest = saved(tmp_path)
    wrong, right = tmp_path / "w-00000000.pt", tmp_path / f"w-{digest[:8]}.pt"
    for copy in (wrong, right):
        copy.write_bytes(path.read_bytes())
    assert hub.load_state_dict_from_url(right.as_uri(), check_hash=True)
    with pytest.raises(RuntimeError, match="invalid hash"):
        hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True)


def test_a_model_of_a_folder(home, tmp_path):
    folder = home / "hub" / "someone_models_v1"
    folder.mkdir(parents=True)
    (folder / "sizes.py").write_text("wanted = 3\n")
    (folder / "hubconf.py").write_text(
        "import sizes\ndef model(scale): return sizes.wanted * scale\n"
    )
    assert hub.load(str(folder), "model", 2, source="local") == 6
    assert hub.load("someone/models:v1", "model", scale=3, trust_repo=True) == 9
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        hub.load(str(folder), "other", source="local")
    with pytest.raises(RuntimeError, match="not downloaded"):
        hub.load("someone/else", "model")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(str(folder), "model", source="web")
    with pytest.raises(FileNotFoundError, match="hubconf"):
        hub.load(str(tmp_path), "model", source="local")


def test_models_of_a_repository_that_was_downloaded(tmp_path, monkeypatch, torch):
    model = 'def model(x=1):\n    """Makes it."""\n\n'
    place = tmp_path / "hub" / "owner_name_main"
    place.mkdir(parents=True)
    text = f"from math import sin\n\n{model}def _inner(): ...\n\nvalue = 3\n"
    (place / "hubconf.py").write_text(text)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    for library in (compat, torch):
        options = {"skip_validation": True, "trust_repo": True}
        assert library.hub.list("owner/name:main", **options) == ["model", "sin"]
        assert library.hub.help("owner/name:main", "model", **options) == "Makes it."
        for name in ("nonsense", "value"):
            with pytest.raises(RuntimeError):
                library.hub.help("owner/name:main", name, **options)
