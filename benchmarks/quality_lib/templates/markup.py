"""HTML fragments from plain texts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def paragraphs(*texts: str) -> str:
    """Return each text as a paragraph."""
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def section(heading: str, *parts: str, level: int = 2) -> str:
    """Return a heading and the HTML below it."""
    return "\n".join([f"<h{level}>{escape(heading)}</h{level}>", *parts])


def told(words: Mapping[str, Sequence[str]], key: str) -> str:
    """Return the section whose heading ends the key, with the paragraphs of the key."""
    return section(key.partition(": ")[2], paragraphs(*words[key]))


def joined(*parts: str) -> str:
    """Return parts one below the other."""
    return "\n".join(parts)


def items(texts: Iterable[str], kind: str = "ul") -> str:
    """Return a list."""
    lines = "".join(f"<li>{escape(text)}</li>\n" for text in texts)
    return f"<{kind}>\n{lines}</{kind}>"


def links(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of links from pairs of address and text."""
    lines = "".join(f'<li><a href="{escape(to)}">{escape(text)}</a></li>\n' for to, text in pairs)
    return f"<ul>\n{lines}</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; an empty header is left out."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = [f"<thead><tr>{head}</tr></thead>"] if header else []
    lines += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a definition list."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in pairs)
    return f"<dl>\n{lines}</dl>"
