"""Recognize pages whose content is data in scripts, and whose visible text is only a notice.

A browser runs the scripts and shows the content; a crawler sees "please turn on JavaScript", the
same on all pages of the site. Frameworks have many names for such data, so its form decides: beside
strings and numbers, data has hardly a word, while code consists of words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.lines import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.lines import Line

# A longer text is no notice.
_MAX_WORDS = 150
# Data as long as that beside the visible text is large, whatever it is …
_MIN_TIMES = 10
# … and so is data with so many times the words of the text in sentences, and so many at least.
_MIN_TIMES_IN_SENTENCES = 1.5
_MIN_WORDS_IN_SENTENCES = 80
# A page that shows its data has at least this share of its words in the data, too.
_MIN_SHARE_SHOWN = 0.25
# Letters beside strings, as a share of a script: in code they are half of it.
_MAX_LETTERS_OF_DATA = 0.2
_MIN_CHARACTERS = 400
# The beginning of a script tells code from data.
_SAMPLE_CHARACTERS = 10_000
# More of a script is not looked at.
_MAX_CHARACTERS = 2_000_000

# The closing quote is optional, so that each search takes linear time.
_STRING = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"?' r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?" r"|`[^`\\]*(?:\\.[^`\\]*)*`?",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")
_WORDS_OF_PHRASE = 3
_MIN_WORDS_OF_SENTENCE = 4


def is_notice(root: HtmlElement, content: Sequence[Line]) -> bool:
    """Return True if the content of a page is a few words beside large data that it does not show.

    :param root: the tree of the page, with its scripts.
    :param content: the lines of its content, see `scrapy_simhash.extraction.segments`.
    """
    words = sum(line.words for line in content)
    if not 0 < words <= _MAX_WORDS:
        return False
    characters = sum(len(line.text) for line in content)
    scripts = [
        text[:_MAX_CHARACTERS]
        for script in root.iter("script")
        if (text := script.text) and len(text) >= _MIN_CHARACTERS
    ]
    if sum(map(len, scripts)) < characters:
        return False
    strings = [
        _ESCAPE.sub(lambda found: chr(int(found[1], 16)), string)
        for script in scripts
        for string in _strings_of_data(script)
    ]
    if sum(map(len, strings)) < _MIN_TIMES * characters:
        counts = map(count_words, strings)
        in_sentences = sum(count for count in counts if count >= _MIN_WORDS_OF_SENTENCE)
        if in_sentences < max(_MIN_TIMES_IN_SENTENCES * words, _MIN_WORDS_IN_SENTENCES):
            return False
    return not _shows(content, " ".join(strings))


def _strings_of_data(script: str) -> list[str]:
    """Return the strings of a script, and its rest without spaces as the last one.

    The list is empty for code.
    """
    sample = script[:_SAMPLE_CHARACTERS]
    if len(_LETTER.findall(_STRING.sub("", sample))) > _MAX_LETTERS_OF_DATA * len(sample):
        return []
    return [*_STRING.findall(script), "".join(_STRING.sub("", script).split())]


def _shows(content: Iterable[Line], data: str) -> bool:
    """Return True if much of the content is in the data, too."""
    data = _normal(data)
    shown = phrases = 0
    for line in content:
        words = _normal(line.text).split()
        for start in range(0, len(words) - _WORDS_OF_PHRASE + 1, _WORDS_OF_PHRASE):
            phrases += 1
            shown += " ".join(words[start : start + _WORDS_OF_PHRASE]) in data
    return shown > _MIN_SHARE_SHOWN * phrases


def _normal(text: str) -> str:
    """Return the words of a text in lower case, joined by spaces."""
    return " ".join(_WORD.findall(text.lower()))
