"""Render texts as HTML fragments, and fill templates with them."""

from __future__ import annotations

import re
from html import escape
from string import Template
from typing import TYPE_CHECKING
from zlib import crc32

from .catalog import HERE
from .text import Text, caption_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# The defaults of template values.
_BLANK = {"breadcrumbs": "", "sidebar": "", "byline": "", "date": "", "more": "", "kind": "page"}


def number_for(path: str, modulus: int) -> int:
    """Return a number below `modulus` that looks random, but is the same in every build."""
    return crc32(path.encode()) % modulus


def fill(template: str, path: str, **values: str) -> str:
    """Return a filled template. The page id and the time of serving depend only on the path."""
    seconds = number_for(path, 86_400)
    served = f"2026-10-17T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"
    source = (HERE / "templates" / f"{template}.html").read_text(encoding="utf-8")
    return Template(source).substitute(
        _BLANK, page_id=f"{number_for(path, 2**32):08x}", served=served, **values
    )


def link(path: str, label: str) -> str:
    """Return an HTML link."""
    return f'<a href="{escape(path)}">{escape(label)}</a>'


def links(targets: Iterable[tuple[str, str]], tag: str = "ul") -> str:
    """Return an HTML list of links, which are given as (path, label)."""
    items = "\n".join(f"  <li>{link(path, label)}</li>" for path, label in targets)
    return f"<{tag}>\n{items}\n</{tag}>"


def box(title: str, body: str, *, zh: bool) -> str:
    """Return a box of the sidebar."""
    if zh:
        return f'<div class="box"><h3>{escape(title)}</h3>\n{body}\n</div>'
    return f'<section class="box">\n<h3>{escape(title)}</h3>\n{body}\n</section>'


def first_sentences(text: Text, length: int) -> str:
    """Return the first paragraph up to the first end of a sentence at `length` or later."""
    body = next(p for p in text.paragraphs if caption_of(p) is None)
    end = next((m.end() for m in re.finditer(r"[.。？!]", body) if m.end() >= length), len(body))
    return body[:end]


def prose(text: Text, path: str = "") -> str:
    """Return the paragraphs as HTML, with a picture above each caption."""
    blocks = []
    for paragraph in text.paragraphs:
        caption = caption_of(paragraph)
        if caption is None:
            blocks.append(f"<p>{escape(paragraph)}</p>")
        else:
            picture = f'<img src="/static/photos/{number_for(path, 10_000)}.jpg" alt="">'
            blocks.append(f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>")
    return "\n".join(blocks)


def soup(text: Text) -> str:
    """Return the paragraphs separated by line breaks only, as some editors write them."""
    parts = [escape(caption_of(p) or p) for p in text.paragraphs]
    return "<div>" + "<br><br>\n".join(parts) + "</div>"
