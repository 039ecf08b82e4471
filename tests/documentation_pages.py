"""The pages of the documentation: README and the like, and docs/."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = (
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "benchmarks" / "README.md",
    *sorted(DOCS.rglob("*.md")),
)
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]

_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A code block, where it stands, and what it says of its language."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks():
    for name in NAMES:
        text = text_of(name)
        for match in _BLOCK.finditer(text):
            yield Block(name, text.count("\n", 0, match.start()) + 1, match[1], match[2])


def prose(name):
    """A page without its code blocks."""
    return _BLOCK.sub("", text_of(name))


def inline_code(name):
    """What stands between backticks, in one line each."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose(name))]
