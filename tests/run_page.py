"""Run the Python of a Markdown page: sessions (>>>) as doctests, other blocks as they are."""

import doctest
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(path: Path) -> int:
    """Run all blocks of a page in one namespace; how many there were."""
    page = path.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__page__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    blocks = list(BLOCK.finditer(page))
    for block in blocks:
        line = page.count("\n", 0, block.start(1))
        if ">>>" in block[1]:
            test = doctest.DocTestParser().get_doctest(block[1], names, path.name, str(path), line)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile("\n" * line + block[1], path, "exec"), names)
    if runner.summarize(verbose=False).failed:
        sys.exit(1)
    return len(blocks)


if __name__ == "__main__":
    print(run_page(Path(sys.argv[1])))
