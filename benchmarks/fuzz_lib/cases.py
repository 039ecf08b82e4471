"""One case of a run: a page, what was done to it, and how it is served; all from (seed, number)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from fuzz_lib.mutations import MUTATIONS, Dice

if TYPE_CHECKING:
    from collections.abc import Sequence

_CODECS = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "gb18030", "big5"),
    *("shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "koi8-r", "cp1252", "iso-8859-8", "cp437"),
    *("utf-8-sig", "cp037", "unicode-escape", "raw-unicode-escape"),
)
# No encodings of text, or none at all: Scrapy raises, or guesses.
_OTHER_NAMES = ("klingon", "base64", "rot13", "idna", "punycode", "undefined", "x" * 300, "\xff")
_KEYS = (
    "../" * 40 + "etc/passwd",
    "nul\0",
    "\ud800",
    "\x1b[2J\r\n",
    "E\xff\xff\xff\xff",
    "茶" * 5000,
)
# How large most pages are, the share of those that may be larger, and how much larger.
_LARGER_SHARE = 0.01
_LARGER = 8


@dataclass(frozen=True)
class Case:
    """A page as a server would send it.

    :param steps: the name of the page that it was made of, and what was done to it.
    :param key: the identity under which it is judged.
    :param confirmed: whether its callback succeeds, and it counts as seen.
    """

    number: int
    steps: tuple[str, ...]
    body: bytes
    content_type: str
    key: str
    confirmed: bool

    def response(self) -> HtmlResponse:
        """What Scrapy makes of it."""
        return HtmlResponse(
            "https://localhost/",
            body=self.body,
            headers={"Content-Type": self.content_type.encode("latin-1")},
        )


def make_case(seed: int, number: int, pages: Sequence[tuple[str, bytes]], max_bytes: int) -> Case:
    """The case of that number, the same wherever it is made from the same pages."""
    rng = Random(f"{seed}/{number}")
    if rng.random() < _LARGER_SHARE:
        max_bytes *= _LARGER
    name, page = rng.choice(pages)
    page = page[:max_bytes]
    steps = [name]
    for mutation in rng.choices(list(MUTATIONS), k=rng.choice((1, 1, 2, 2, 3, 5))):
        page = MUTATIONS[mutation](page, Dice(rng, pages, max_bytes))[: 2 * max_bytes]
        steps.append(mutation)
    charset = "utf-8"
    if rng.random() < 0.15:
        page, charset, said = _recoded(page, rng)
        steps.append(said)
    key = (
        rng.choice(_KEYS) + str(number % 7)
        if rng.random() < 0.02
        else f"https://localhost/{number}"
    )
    return Case(
        number,
        tuple(steps),
        page,
        "text/html" + (charset and f"; charset={charset}"),
        key,
        rng.random() < 0.7,
    )


def _recoded(page: bytes, rng: Random) -> tuple[bytes, str, str]:
    """The page in another encoding, what the header says of it, and a word about both."""
    codec = rng.choice(_CODECS)
    text = page.decode("utf-8", "replace")
    if rng.random() < 0.1:
        text = text.replace(" ", "\ud800 \udfff")
    errors = rng.choice(("ignore", "xmlcharrefreplace", "surrogatepass"))
    try:
        body = text.encode(codec, errors)
    except UnicodeError:  # few codecs know lone surrogates
        body = text.encode(codec, "ignore")
    if rng.random() < 0.3:
        declared = rng.choice(_CODECS).encode()
        body = b"<meta charset='" + declared + b"'>" + body
    kind = rng.random()
    if kind < 0.4:
        charset = codec
    elif kind < 0.6:
        charset = ""
    elif kind < 0.9:
        charset = rng.choice(_CODECS)
    else:
        charset = rng.choice(_OTHER_NAMES)
    return body, charset, f"recode: {codec}, said to be {charset[:20] or 'nothing'}"
