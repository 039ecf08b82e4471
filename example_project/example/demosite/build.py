"""Build the site: articles, their near-duplicates, listings and other pages."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from .catalog import HERE, Article, load_articles
from .endless import FIRST_MONTH, calendar_page, endless_page, next_month
from .frames import DEAD_LINKS, Frames
from .model import HOST, MAIN, MIRROR, MIRROR_HOST, Page, Site
from .plants_en import PLANTS as PLANTS_EN
from .plants_zh import PLANTS as PLANTS_ZH
from .render import first_sentences, link, number_for
from .text import Text, add, edited, read_text

if TYPE_CHECKING:
    from .plants import Plant

PLANTS = PLANTS_EN + PLANTS_ZH
MONTHS_LISTED = 6  # of the endless calendar; the server makes further months on request

_LISTINGS = (
    # path, title, path of another listing page, label of the link to it
    ("/", "Top stories", "/news/", "All news"),
    ("/news/", "News", "/news/page/2", "Older news"),
    ("/news/page/2", "News, page 2", "/news/", "Newer news"),
    ("/life/", "Life", "/life/page/2", "Older stories"),
    ("/life/page/2", "Life, page 2", "/life/", "Newer stories"),
    ("/zh/", "本地要闻", "/zh/page/2", "乡村见闻"),
    ("/zh/page/2", "乡村见闻", "/zh/", "返回首页"),
)
_HOUSE_PAGES = (
    ("/about", "about"),
    ("/contact", "contact"),
    ("/imprint", "imprint"),
    ("/zh/about", "about-zh"),
)
_PRINTED = {
    "en": "Printed from The Harbour Courier, 14 October 2026.",
    "zh": "本页打印自《海港邮报》中文网。",
}
_FIRST_PATH_PART = {"print": "print", "syndicated": "wire", "reordered": "quick"}


def plant_path(plant: Plant, article: Article) -> str:
    """Return the path of a near-duplicate of an article, with its query."""
    if plant.kind == "session":
        return f"{article.path}?sid={number_for(article.path + ' session', 2**32):08x}"
    if plant.kind == "mirror":
        return article.path
    prefix = _FIRST_PATH_PART[plant.kind]
    if plant.kind == "syndicated":
        return f"/{prefix}/{article.slug}-{number_for(article.slug, 9000) + 1000}.html"
    return f"{'' if article.lang == 'en' else '/zh'}/{prefix}/{article.slug}.html"


def plant_text(plant: Plant, article: Article) -> Text:
    """Return the text of a near-duplicate of an article."""
    text = edited(article.text, plant.edits)
    return add(_PRINTED[article.lang[:2]])(text) if plant.kind == "print" else text


def build_site(main_port: int, mirror_port: int) -> Site:
    """Return the site, whose two hosts have the given ports. The ports appear only in links."""
    articles = load_articles()
    sessions: dict[str, str] = {}
    views: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for plant in PLANTS:
        article = articles[plant.source]
        path, zh = plant_path(plant, article), article.lang != "en"
        if plant.kind == "session":
            sessions[plant.source] = path
        elif plant.kind == "print":
            views[plant.source].append((path, "打印本页" if zh else "Print this report"))
        elif plant.kind == "reordered":
            views[plant.source].append((path, "快速阅读" if zh else "Quick read"))
    frames = Frames(
        f"http://{HOST}:{main_port}/",
        f"http://{MIRROR_HOST}:{mirror_port}/",
        articles,
        sessions,
        views,
    )
    pages = [
        *(_article_page(frames, article) for article in articles.values()),
        *(_plant_page(frames, plant) for plant in PLANTS),
        *_listing_pages(frames),
        *_house_pages(frames),
        *_endless_samples(frames),
    ]
    return Site(
        main_port,
        mirror_port,
        {(page.role, page.path): page for page in pages},
        partial(endless_page, frames),
    )


def _article_page(frames: Frames, article: Article) -> Page:
    html = frames.article(article.path, article, article.text)
    return Page(MAIN, article.path, html, article.text.plain, article.lang, "article", article.name)


def _plant_page(frames: Frames, plant: Plant) -> Page:
    article = frames.articles[plant.source]
    path, text, role = plant_path(plant, article), plant_text(plant, article), MAIN
    if plant.kind == "print":
        html = frames.print(path, article, text)
    elif plant.kind == "mirror":
        role = MIRROR
        html = frames.mirror(path, text, article.lang, article=article)
    elif plant.kind == "syndicated":
        role = MIRROR
        html = frames.wire(path, text, article.date, more=[("/wire/", "All stories")])
    else:
        html = frames.article(path, article, text)
    return Page(role, path, html, text.plain, article.lang, plant.kind, plant.source)


def _listing_pages(frames: Frames) -> list[Page]:
    pages = []
    for path, title, other, label in _LISTINGS:
        entries = [a for a in frames.articles.values() if a.section == path]
        zh = path.startswith("/zh/")
        html = frames.listing(path, title, entries, zh=zh, turn=[(other, label)], short=path == "/")
        pages.append(_listing(MAIN, path, html, zh=zh))
    copies = [
        (
            plant_path(plant, frames.articles[plant.source]),
            plant_text(plant, frames.articles[plant.source]),
        )
        for plant in PLANTS
        if plant.kind == "syndicated"
    ]
    stories = "\n".join(
        f'<div class="c-s">{link(path, text.title)}'
        f"<div>{escape(first_sentences(text, 40))}</div></div>"
        for path, text in copies
    )
    html = frames.wire("/wire/", Text("Stories from four coasts", ()), "daily", contents=stories)
    pages.append(_listing(MIRROR, "/wire/", html))
    mirrored = [frames.articles[plant.source] for plant in PLANTS if plant.kind == "mirror"]
    rows = "\n".join(
        f"<li>{link(a.path, a.text.title)} ({a.date})<br />{escape(a.text.paragraphs[-1])}</li>"
        for a in mirrored
    )
    html = frames.mirror("/", Text("Copies kept here", ()), "en", contents=f"<ul>\n{rows}\n</ul>")
    pages.append(_listing(MIRROR, "/", html))
    return pages


def _listing(role: str, path: str, html: str, *, zh: bool = False) -> Page:
    family = f"listing {role} {path}"
    return Page(role, path, html, "", "zh-Hans" if zh else "en", "listing", family)


def _house_pages(frames: Frames) -> list[Page]:
    pages = []
    for path, name in _HOUSE_PAGES:
        text, zh = read_text(HERE / "pages" / f"{name}.txt"), name.endswith("zh")
        html = frames.plain(path, text, zh=zh)
        pages.append(Page(MAIN, path, html, text.plain, "zh-Hans" if zh else "en", "about", name))
    return pages


def _endless_samples(frames: Frames) -> list[Page]:
    """Return the soft 404s that pages link to, and the first months of the calendar."""
    dead = [path for targets in DEAD_LINKS.values() for path, _label in targets]
    pages = [endless_page(frames, path) for path in dead]
    month = FIRST_MONTH
    for _ in range(MONTHS_LISTED):
        pages.append(calendar_page(frames, *month))
        month = next_month(*month)
    return [page for page in pages if page is not None]
