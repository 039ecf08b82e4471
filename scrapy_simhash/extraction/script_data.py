"""Recognize pages whose content is data for scripts, and whose visible text is only a notice.

A browser runs the scripts and shows the content; a crawler sees "please turn on JavaScript", the
same on all pages of the site. Data is in scripts, in attributes, or in elements that only a script
shows. Frameworks have many names for it, so its form decides: beside strings and numbers, data has
hardly a word, while code consists of words. Keys, addresses, drawings and messages of the program
(translated from sentences, which are keys) are no content.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

from scrapy_simhash.extraction.lines import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

# A longer text is no notice.
_MAX_WORDS = 150
# Data as long as that beside the visible text is large, whatever it is …
_MIN_TIMES = 10
# … and so is data with as many words as the text in sentences, and so many at least.
_MIN_WORDS_IN_SENTENCES = 30
# A page that shows its data has at least this share of its words in the data, too.
_MIN_SHARE_SHOWN = 0.25
# Letters beside strings, as a share of a script: in code they are half of it.
_MAX_LETTERS_OF_DATA = 0.2
_MIN_CHARACTERS = 400

_CODE_TYPES = ("javascript", "ecmascript", "module", "jsx", "typescript", "css")
# Elements whose content a script shows.
_SHOWN_BY_SCRIPT = ("template", "noscript", "textarea", "xmp")
# The beginning of a script tells code from data.
_SAMPLE_CHARACTERS = 10_000
# More of a script is not looked at.
_MAX_CHARACTERS = 2_000_000

# The closing quote is optional, so that each search takes linear time.
_STRING = (
    r'"[^"\\]*(?:\\.[^"\\]*)*"?' r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?" r"|`[^`\\]*(?:\\.[^`\\]*)*`?"
)
_STRINGS = re.compile(_STRING, re.DOTALL)
# A string, the colon after a key, or a number.
_VALUE = re.compile(rf"({_STRING})(\s*:)?|\d[\d.:-]*", re.DOTALL)
_ESCAPE = re.compile(r"\\{1,8}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_ESCAPED_SIGN = re.compile(r"\\([\"\\])")
_QUOTE_REFERENCE = re.compile(r"&q(?:uot)?;")
_LETTERS = re.compile(r"[^\W\d_]+")
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")
_WORD = re.compile(r"\w+")
_TAG = re.compile(r"<[^<>]*>")
# Code and drawings have more signs and, beside letters, more digits than texts.
_MAX_SIGNS = 0.2
_MAX_NAME_CHARACTERS = 100
_WORDS_OF_PHRASE = 3
_MIN_WORDS_OF_SENTENCE = 4


def is_notice(text: str, parse: Callable[[], Elements | None]) -> bool:
    """Return True if the text of a page is a few words beside large data that it does not show.

    :param text: the text that was extracted.
    :param parse: returns the elements of the page.
    """
    lines = text.split("\n")
    words = 0
    for words in accumulate(map(count_words, lines)):
        if words > _MAX_WORDS:  # which holds for most pages
            return False
    elements = parse() if words else None
    if elements is None:
        return False
    values = list(filter(_is_text, _hidden_values(elements.root, _normal(text))))
    if sum(map(len, values)) < _MIN_TIMES * len(text):
        in_sentences = sum(map(_words_of_sentence, values))
        if in_sentences < max(words, _MIN_WORDS_IN_SENTENCES):
            return False
    return not _shows(lines, " ".join(values))


def _hidden_values(root: HtmlElement, shown: str) -> Iterator[str]:
    """Yield the texts and numbers in the data of a page that is left to scripts.

    :param shown: the `_normal` text of the page. What a ``noscript`` repeats of it is not hidden.
    """
    small = []
    for script in root.iter("script"):
        content, kind = (script.text or "")[:_MAX_CHARACTERS], script.get("type", "").lower()
        if kind and not any(one in kind for one in _CODE_TYPES) and '"' not in content:
            # Neither code nor JSON: a text with markup, or with escaped quotes.
            yield from _TAG.sub("\n", _QUOTE_REFERENCE.sub("\n", content)).split("\n")
        elif len(content) < _MIN_CHARACTERS:
            small.append(content)
        else:
            yield from _values(content)
    joined = "\n".join(small)
    if len(joined) >= _MIN_CHARACTERS:
        yield from _values(joined)
    for element in root.iter():
        texts = element.values() if element.tag != "textarea" else (*element.values(), element.text)
        for value in texts:
            if value and value.lstrip()[:1] in ("{", "["):
                found = _values(value[:_MAX_CHARACTERS])
                # Short ones are often settings.
                is_long = len(value) >= _MIN_CHARACTERS
                yield from found if is_long else filter(_words_of_sentence, found)
    for element in root.iter(*_SHOWN_BY_SCRIPT):
        if element.getparent() is not None and element.getparent().tag not in _SHOWN_BY_SCRIPT:
            for text in "\n".join(element.itertext()).split("\n"):
                if _words_of_sentence(text) and _normal(text) not in shown:
                    yield text


def _values(script: str) -> Iterator[str]:
    """Yield the texts and numbers in the data of a script; nothing of code and of translations."""
    sample = script[:_SAMPLE_CHARACTERS]
    if _count_letters(_STRINGS.sub("", sample)) > _MAX_LETTERS_OF_DATA * len(sample):
        return
    values: list[str] = []
    for found in _VALUE.finditer(script):
        value = _ESCAPE.sub(lambda code: chr(int(code[1] or code[2], 16)), found[1] or found[0])
        if found[2] is None:
            if "%20" in value:
                value = unquote(value)
            # A string may contain data, too.
            inner = _values(_ESCAPED_SIGN.sub(r"\1", value[1:-1])) if '\\"' in value else ()
            count = len(values)
            values.extend(inner)
            if count == len(values) and ("/" not in value or " " in value):  # else an address
                values.append(_TAG.sub(" ", value))
        elif value.count(" ") >= _MIN_WORDS_OF_SENTENCE:
            return
    yield from values


def _count_letters(text: str) -> int:
    return sum(map(len, _LETTERS.findall(text)))


def _is_text(value: str) -> bool:
    """Return True for a name, a number or a sentence; False for code and for a drawing."""
    is_long = len(value) > _MAX_NAME_CHARACTERS
    return len(_SIGN.findall(value)) <= _MAX_SIGNS * len(value) and not (
        is_long and 2 * _count_letters(value) < len(value)
    )


def _words_of_sentence(value: str) -> int:
    """Return the number of words of a sentence; 0 for a name or a number."""
    words = count_words(value)
    return words if words >= _MIN_WORDS_OF_SENTENCE else 0


def _shows(lines: Sequence[str], data: str) -> bool:
    """Return True if much of the content is in the data, too."""
    data = _normal(data)
    phrases = [
        " ".join(words[start : start + _WORDS_OF_PHRASE])
        for words in (_normal(line).split() for line in lines)
        for start in range(0, len(words) - _WORDS_OF_PHRASE + 1, _WORDS_OF_PHRASE)
    ]
    return sum(phrase in data for phrase in phrases) > _MIN_SHARE_SHOWN * len(phrases)


def _normal(text: str) -> str:
    """Return the words of a text in lower case, joined by spaces."""
    return " ".join(_WORD.findall(text.lower()))
