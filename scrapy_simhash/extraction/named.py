"""Find the elements whose class, id or microdata property has one of some words.

Most elements have none of them. So all names of a page are searched together, word by word. This is
several times as fast as a search in each name.
"""

from __future__ import annotations

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
        found = []
        place = last = 0
        end = -1
        for at in sorted(hits):
            if at > end:  # not in the names of the last element
                place += text.count("\n", last, at)
                last = at
                end = text.find("\n", at) % (len(text) + 1)
                names = text[text.rfind("\n", 0, at) + 1 : end].split()
                found.append((self.elements[place], names))
        return found


def names_of(element: HtmlElement) -> str:
    """Return the classes and the id of an element."""
    return f"{element.get('class', '')} {element.get('id', '')}"


def _all_names(element: HtmlElement) -> str:
    get = element.get
    names = f"{get('class', '')} {get('id', '')} {get('itemprop', '')}"
    return names.replace("\n", " ") if "\n" in names else names
