"""What stands around a text: header, navigation, sidebar, comments, footer, in several frames."""

from __future__ import annotations

import random
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from soak_lib.texts import Writer, written

if TYPE_CHECKING:
    from soak_lib.texts import Text

_FRAMES = 4
PRINT_FRAME = _FRAMES
_STYLE = """body{margin:0;font:16px/1.5 sans-serif;color:#222;background:#fafafa}
a{color:#06c;text-decoration:none}a:hover{text-decoration:underline}
.wrap{max-width:1100px;margin:0 auto;display:flex;gap:24px}
.side{width:280px;font-size:14px}.menu{list-style:none;display:flex;gap:12px;padding:8px}
.foot{border-top:1px solid #ccc;padding:16px;font-size:12px;color:#666}"""
_SCRIPT = """(function(w,d){var q=w.q=w.q||[];q.push(["id","%s"]);var s=d.createElement("script");
s.async=1;s.src="/assets/count.js?v=12";d.head.appendChild(s)})(window,document);"""


class Dress(NamedTuple):
    """The contents of a frame.

    :param seed: of navigation, advertising and comments.
    :param session_seed: of the date and of what links carry.
    :param number: the page's own, in its header; that of its original for an equal copy.
    """

    seed: str
    session_seed: str
    number: int


class _Filling:
    """The parts of one page, drawn in a fixed order."""

    def __init__(self, dress: Dress, seed: int, *, chinese: bool) -> None:
        self._dice = random.Random(dress.seed)
        self._seed, self._chinese = seed, chinese
        self._writer = Writer(seed, self._dice, chinese=chinese)
        session = random.Random(dress.session_seed)
        self.session_id = f"{session.getrandbits(64):016x}"
        self.day = (
            f"{session.randint(2008, 2024)}-{session.randint(1, 12):02}-{session.randint(1, 28):02}"
        )
        self.menu = self._links(8, 1)
        self.headlines = self._links(self._dice.randint(5, 9), 5)
        self.offers = [self._line(9) for _ in range(self._dice.randint(1, 3))]
        self.comments = [
            (self._line(2), self._line(self._dice.randint(8, 30)))
            for _ in range(self._dice.randint(0, 4))
        ]
        self.small_print = [self._line(6), self._line(10)]

    def _line(self, words: int) -> str:
        sentence = self._writer.words(words)
        return escape(written(sentence, self._seed, chinese=self._chinese, stop=words > 9))

    def _links(self, count: int, words: int) -> list[str]:
        return [
            f'<a href="/go/{self._dice.randint(1, 99_999)}?sid={self.session_id}">'
            f"{self._line(words)}</a>"
            for _ in range(count)
        ]


def frame_number(number: int) -> int:
    """Return the frame of an original; neighbours have different ones."""
    return number % _FRAMES


def dressed(text: Text, frame: int, dress: Dress, seed: int) -> str:
    """Return a text in a frame as a page."""
    filling = _Filling(dress, seed, chinese=text.chinese)
    language = "zh" if text.chinese else "en"
    title = escape(written(text.title, seed, chinese=text.chinese, stop=False))
    paragraphs = [
        escape(
            (" " if not text.chinese else "").join(
                written(sentence, seed, chinese=text.chinese) for sentence in paragraph
            )
        )
        for paragraph in text.paragraphs
    ]
    body = _BODIES[frame](title, paragraphs, filling)
    head = f'<meta charset="utf-8"><title>{title}</title>'
    if frame != PRINT_FRAME:
        script = _SCRIPT % filling.session_id
        head += (
            f'\n<link rel="stylesheet" href="/assets/{dress.number % 7}.css">'
            f"\n<style>{_STYLE}</style>\n<script>{script}</script>"
        )
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>{head}</head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _news(title: str, paragraphs: list[str], filling: _Filling) -> str:
    return f"""<header class="top"><a href="/">{filling.small_print[0]}</a></header>
<nav>{_listed(filling.menu, "menu")}</nav>
<div class="wrap"><main><article>
<h1>{title}</h1><p class="byline"><time>{filling.day}</time></p>
{_paragraphs(paragraphs)}
</article>{_comments(filling, "section")}</main>
<aside class="side">{_listed(filling.headlines)}{_offers(filling)}</aside></div>
{_footer(filling)}"""


def _blog(title: str, paragraphs: list[str], filling: _Filling) -> str:
    return f"""<div id="header"><h2>{filling.small_print[0]}</h2>
{_listed(filling.menu, "menu")}</div>
<div class="wrap"><div id="content" class="post"><h1>{title}</h1>
<div class="entry">
{_paragraphs(paragraphs)}
</div><div class="meta">{filling.day}</div>{_comments(filling, "div")}</div>
<div id="sidebar" class="side">{_offers(filling)}{_listed(filling.headlines)}</div></div>
{_footer(filling)}"""


def _portal(title: str, paragraphs: list[str], filling: _Filling) -> str:
    middle = len(paragraphs) // 2
    return f"""{_listed(filling.menu, "navigation menu")}
<div class="banner">{_offers(filling)}</div>
<div class="wrap"><div class="sidebar side">{_listed(filling.headlines)}</div>
<div class="story"><h1>{title}</h1><div class="date">{filling.day}</div>
{_paragraphs(paragraphs[:middle])}
<div class="advert">{_offers(filling)}</div>
{_paragraphs(paragraphs[middle:])}
</div></div>{_comments(filling, "div")}
{_footer(filling)}"""


def _table(title: str, paragraphs: list[str], filling: _Filling) -> str:
    menu = "<br>\n".join(filling.menu)
    return f"""<table width="100%">
<tr><td colspan="2" class="header">{filling.small_print[0]}</td></tr>
<tr><td class="menu" valign="top" width="180">{menu}{_listed(filling.headlines)}</td>
<td valign="top"><h1>{title}</h1><small>{filling.day}</small>
{_paragraphs(paragraphs)}
{_comments(filling, "div")}</td></tr></table>
{_footer(filling)}"""


def _print_version(title: str, paragraphs: list[str], filling: _Filling) -> str:
    return f"""<h1>{title}</h1>
{_paragraphs(paragraphs)}
<hr><p class="printed">{filling.day} /print?sid={filling.session_id}</p>"""


_BODIES = (_news, _blog, _portal, _table, _print_version)


def _paragraphs(paragraphs: list[str]) -> str:
    return "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)


def _listed(links: list[str], names: str = "links") -> str:
    items = "\n".join(f"<li>{link}</li>" for link in links)
    return f'<ul class="{names}">{items}</ul>'


def _offers(filling: _Filling) -> str:
    return "".join(
        f'<div class="ad"><a href="/offer?sid={filling.session_id}">{offer}</a></div>'
        for offer in filling.offers
    )


def _comments(filling: _Filling, tag: str) -> str:
    comments = "".join(
        f'<div class="comment"><b>{name}</b><p>{comment}</p></div>'
        for name, comment in filling.comments
    )
    return f'<{tag} class="comments" id="comments">{comments}</{tag}>'


def _footer(filling: _Filling) -> str:
    first, second = filling.small_print
    return f'<footer class="foot">{first} | {second} | {" | ".join(filling.menu[:4])}</footer>'
