"""Find the elements whose class, id or microdata property has one of some words.

Most elements have none of them. So all attributes of a page are searched together, word by word,
and names are read only where a word is found. This is several times as fast as reading all names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement


class Named:
    """Elements, to find some by their names.

    :param elements: in document order.
    """

    def __init__(self, elements: Sequence[HtmlElement]) -> None:
        self.elements = elements
        values = [" ".join(element.values()) for element in elements]
        text = "\n".join(values)
        if text.count("\n") >= len(elements):  # in a value
            text = "\n".join(value.replace("\n", " ") for value in values)
        self._text = text.lower()

    def with_words(self, words: Iterable[str]) -> list[tuple[HtmlElement, list[str]]]:
        """Return the elements with an attribute that contains one of the words, and their names:
        classes, id and microdata property, in lower case.
        """
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
            if at > end:  # not in the attributes of the last element
                place += text.count("\n", last, at)
                last = at
                end = text.find("\n", at) % (len(text) + 1)
                element = self.elements[place]
                names = f"{names_of(element)} {element.get('itemprop', '')}"
                found.append((element, names.lower().split()))
        return found


def names_of(element: HtmlElement) -> str:
    """Return the classes and the id of an element."""
    return f"{element.get('class', '')} {element.get('id', '')}"
