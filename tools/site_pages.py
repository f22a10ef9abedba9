"""Writes the pages of the site, and its configuration, for `make docs`.

    python -m tools.site_pages FOLDER

The site has more than docs/: the README is its first page, the reference is written from the
package (tools/reference.py), and every file of the repository that a page links to has a page, so
that all links can be checked, and none must know where the repository is published. What is
written is plain Markdown: mkdocs turns it into HTML today, and another program could.
"""

import json
import posixpath
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import adjoint
from tools import reference

ROOT = Path(__file__).resolve().parents[1]
HOME = "README.md"
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

# A star stands for the pages of a folder that have no place of their own.
NAVIGATION = {
    "Guide": [
        "tour.md",
        "transforms.md",
        "from_scratch.md",
        "adding_an_op.md",
        "coming_from_torch.md",
        "reliability.md",
        "benchmarks.md",
        "*",
    ],
    "Notes": ["notes/*"],
    "Examples": ["examples/*"],
    "Reference": ["reference/*"],
    "Project": ["CONTRIBUTING.md", "releasing.md", "SECURITY.md", "CHANGELOG.md"],
}

TOP = "reference/adjoint.md"
ALONE = "---\nhide: [navigation]\n---\n"
LINK = re.compile(r"(?<=\]\()[^)\s#:]+(?=[)#])")  # a path, up to its anchor
DOCSTRING = re.compile(r'\A"""(.*?)"""\n', re.DOTALL)
SECTION = re.compile(r"# -+ (.*) -+")


# ---- files of the repository, and their pages ----


@cache
def uris() -> dict[str, str]:
    """Where the page of each file is that has one: those of docs/, and whatever pages link to."""
    found: dict[str, str] = {}
    docs = [path for path in sorted((ROOT / "docs").rglob("*")) if path.suffix in {".md", ".py"}]
    waiting = [HOME, *BESIDE, *(path.relative_to(ROOT).as_posix() for path in docs)]
    while waiting:
        path = waiting.pop(0)
        if path not in found and (ROOT / path).exists():
            found[path] = uri_of(path)
            waiting += targets(path)
    return found


def uri_of(path: str) -> str:
    """Where the page of a file or a folder is in the site."""
    if path == HOME:
        return "index.md"
    if (ROOT / path).is_dir():
        return f"{path}/index.md"
    visible = "/".join(part.lstrip(".") for part in path.removeprefix("docs/").split("/"))
    return visible.removesuffix(".py").removesuffix(".md") + ".md"


def targets(path: str) -> list[str]:
    """The files that a page links to, and those that a folder holds."""
    if (ROOT / path).is_dir():
        return [f"{path}/{file.name}" for file in sorted((ROOT / path).glob("*.py"))]
    if not path.endswith(".md"):
        return []
    return [target(link, path) for link in LINK.findall((ROOT / path).read_text(encoding="utf-8"))]


def target(link: str, source: str) -> str:
    """The file that a link in another one means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def page_to_page(text: str, source: str) -> str:
    """The text of a file with links as its page needs them."""
    folder = posixpath.dirname(uri_of(source)) or "."

    def replace(link: re.Match[str]) -> str:
        uri = uris().get(target(link[0], source))
        return link[0] if uri is None else posixpath.relpath(uri, folder)

    return LINK.sub(replace, text)


# ---- what a page shows ----


def page(path: str) -> str:
    """A file as a page: Markdown with its links changed, code as code."""
    file = ROOT / path
    if file.is_dir():
        return folder_page(path)
    text = file.read_text(encoding="utf-8")
    if path == HOME:
        return ALONE + page_to_page(text, path)
    if path.endswith(".md"):
        return page_to_page(text, path)
    return code_page(path, text) if path.endswith(".py") else f"# {path}\n\n```\n{text}```\n"


def folder_page(path: str) -> str:
    """The programs of a folder with what their first line says."""
    rows = []
    for file in targets(path):
        described = DOCSTRING.match((ROOT / file).read_text(encoding="utf-8"))
        about = described[1].partition("\n")[0] if described else ""
        rows.append(f"| [{title(file)}]({posixpath.basename(uri_of(file))}) | {about} |")
    return "\n".join([f"# {path.capitalize()}", "", "| | |", "|---|---|", *rows, ""])


def title(path: str) -> str:
    """The heading of a program's page."""
    return Path(path).stem.replace("_", " ").capitalize()


def code_page(path: str, text: str) -> str:
    """A program: its docstring, and comments that stand alone, are the text between its code."""
    parts = [f"# {title(path)}"]
    described = DOCSTRING.match(text)
    if described:
        parts.append(described[1].strip())
        text = text[described.end() :]
    code: list[str] = []
    for paragraph in text.strip("\n").split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines and all(line.startswith("# ") for line in lines):
            section = SECTION.fullmatch(lines[0])
            words = "\n".join(line.removeprefix("# ") for line in lines)
            parts += [fenced(code), f"## {section[1]}" if section else words]
            code = []
        else:
            code.append(paragraph)
    parts += [fenced(code), f"This is `{path}`."]
    return "\n\n".join(part for part in parts if part) + "\n"


def fenced(code: list[str]) -> str:
    """Paragraphs of code as one block."""
    text = "\n\n".join(code).strip("\n")
    return f"```python\n{text}\n```" if text else ""


# ---- the site ----


def pages() -> dict[str, str]:
    """The text of every page by its place in the site."""
    texts = {uri: page(path) for path, uri in uris().items()}
    entries = reference.Reference().pages()
    return texts | {f"reference/{name}": text for name, text in entries.items()}


def navigation(names: list[str]) -> list[object]:
    """The sections of the site with their pages."""
    placed = {name for section in NAVIGATION.values() for name in section}
    free = sorted(set(names) - placed, key=in_order)
    sections: list[object] = [{"Home": "index.md"}]
    for heading, section in NAVIGATION.items():
        inside: list[str] = []
        for name in section:
            inside += starred(name, free) if name.endswith("*") else [name]
        sections.append({heading: [shortly(name) for name in inside]})
    return sections


def shortly(name: str) -> object:
    """A page by its own heading, but for namespaces without what all of them begin with."""
    short = name.removesuffix(".md").removeprefix("reference/adjoint.")
    return {short: name} if name.startswith("reference/adjoint.") and name != TOP else name


def in_order(name: str) -> tuple[bool, str]:
    """The page of a folder before those in it; adjoint before adjoint.autograd."""
    return not name.endswith("/index.md"), name.removesuffix(".md")


def starred(star: str, free: list[str]) -> list[str]:
    """The pages that a star stands for; at the top, only those of docs/ are meant."""
    folder = posixpath.dirname(star)
    found = [name for name in free if posixpath.dirname(name) == folder]
    return found if folder else [name for name in found if (ROOT / "docs" / name).exists()]


def write(folder: Path) -> None:
    """Write the site's Markdown and its configuration into an empty folder."""
    if adjoint.__compiled__:
        sys.exit("this adjoint is compiled and has no signatures; write the site from the sources")
    shutil.rmtree(folder, ignore_errors=True)
    texts = pages()
    for name, text in texts.items():
        file = folder / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "tools" / "site.css", folder / "pages")
    settings = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": "pages",
        "site_dir": str(ROOT / "site"),
        "nav": navigation(list(texts)),
    }
    (folder / "mkdocs.yml").write_text(json.dumps(settings, indent=2), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
