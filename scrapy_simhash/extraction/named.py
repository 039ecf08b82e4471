"""Find the elements whose class, id or microdata property has one of some words.

Most elements have none of them. So all names of a page are searched together, word by word. This is
several times as fast as a search in each name.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement


class Named:
    """Elements with their names: classes, id and microdata property, in lower case.

    :param elements: in document order.
    """

    def __init__(self, elements: Sequence[HtmlElement]) -> None:
        self.elements = elements
        self._text = "\n".join(map(_all_names, elements)).lower()

    def with_words(self, words: Iterable[str]) -> list[tuple[HtmlElement, list[str]]]:
        """Return the elements with a name that contains one of the words, and their names."""
        text = self._text
        hits = []
        for word in words:
            at = text.find(word)
            while at >= 0:
                hits.append(at)
                at = text.find(word, at + 1)
        if not hits:
            return []
        lines = text.split("\n")
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        places = sorted({bisect_right(starts, at) - 1 for at in hits})
        return [(self.elements[place], lines[place].split()) for place in places]


def names_of(element: HtmlElement) -> str:
    """Return the classes and the id of an element."""
    return f"{element.get('class', '')} {element.get('id', '')}"


def _all_names(element: HtmlElement) -> str:
    names = f"{names_of(element)} {element.get('itemprop', '')}"
    return names.replace("\n", " ") if "\n" in names else names
