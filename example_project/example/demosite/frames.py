"""Fill the page templates of the site: sidebars, article heads and listings."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .render import box, fill, first_sentences, link, links, number_for, prose, soup
from .text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .catalog import Article

# Sidebars link only to these articles. The other articles can be reached only by a listing page.
MOST_READ_EN = ("en-ferry", "en-flood", "en-football", "en-library", "en-nightbus", "en-seagrass")
MOST_READ_ZH = ("zh-metro", "zh-canteen", "zh-tea", "zh-noodle")

# Links to articles that no longer exist, as (path, label), by the path of the listing page.
DEAD_LINKS = {
    "/": (
        ("/news/2011/storm-surge.html", "The great storm surge in pictures"),
        ("/news/index.php?id=4711", "Archive: the last steam tram"),
    ),
    "/news/page/2": (("/news/2014/market-hall.html", "Archive: market hall under water"),),
    "/life/": (("/news/letters/may.html", "Letters to the editor"),),
    "/zh/": (("/zh/news/2012/0415.html", "资料：老城改造十年"),),
    "/zh/page/2": (("/zh/news/topic-31.html", "专题：山里的学校"),),
}


@dataclass(frozen=True)
class Frames:
    """Fills the templates.

    :param sessions: article name → path of the article with a session id.
    :param other_views: article name → (path, label) of each of its other versions.
    """

    main_url: str
    mirror_url: str
    articles: dict[str, Article]
    sessions: dict[str, str]
    other_views: dict[str, list[tuple[str, str]]]

    def section(self, path: str, text: Text, content: str, *, zh: bool, kind: str) -> str:
        """Return a page of the English or the Chinese section with this content (HTML)."""
        home = ("/zh/", "首页") if zh else ("/", "Front page")
        return fill(
            "zh" if zh else "courier",
            path,
            title=escape(text.title),
            description=escape(first_sentences(text, 80) if text.paragraphs else text.title),
            breadcrumbs=f"{link(*home)} › <span>{escape(text.title)}</span>",
            content=content,
            sidebar=self._sidebar(path, zh=zh, listing=kind == "listing"),
            mirror_url=self.mirror_url,
            edition=f"{1 + number_for(path, 28)} October 2026",
            kind=kind,
            lang="zh-Hans" if zh else "en",
        )

    def article(self, path: str, article: Article, text: Text) -> str:
        """Return the page of an article, as published or with an edited text."""
        zh = article.lang != "en"
        views = 400 + number_for(path, 9000)
        others = [view for view in self.other_views.get(article.name, []) if view[0] != path]
        if zh:
            content = f"""<div class="article">
<h1>{escape(text.title)}</h1>
<div class="info"><span>{article.date}</span> <span>来源：海港邮报</span>
<span>作者：{escape(article.byline)}</span> <span>阅读 {views}</span></div>
<div class="text" id="zoom">
{prose(text, article.path)}
</div>
<div class="share">分享到：<a href="https://share.example/wb">微博</a>
<a href="https://share.example/wx">微信</a></div>
{links(others)}
</div>
<div class="comment"><h3>网友评论</h3><div>共 {views % 17} 条评论，登录后参与讨论</div></div>
<div class="recommend"><h3>相关阅读</h3>
{links(self._pick(path, MOST_READ_ZH, 3))}
</div>"""
        else:
            content = f"""<article class="story">
<header class="story__head">
<h1>{escape(text.title)}</h1>
<p class="story__meta"><span class="byline">{escape(article.byline)}</span> ·
<time>{article.date}</time> · <span class="views">{views:,} views</span></p>
</header>
<div class="story__body">
{prose(text, article.path)}
</div>
<ul class="story__share">
  <li><a href="mailto:?subject=The%20Harbour%20Courier">Send by mail</a></li>
  <li><a href="https://share.example/post">Share</a></li>
</ul>
{links(others)}
</article>
<section class="comments" id="comments">
<h2>{views % 23} comments</h2>
<p>Comments are read before they appear. Please log in to join the discussion.</p>
</section>
<section class="related"><h2>You may also like</h2>
{links(self._pick("related " + path, MOST_READ_EN, 3))}
</section>"""
        return self.section(path, text, content, zh=zh, kind="article")

    def listing(
        self,
        path: str,
        title: str,
        entries: Sequence[Article],
        *,
        zh: bool,
        turn: Sequence[tuple[str, str]],
        short: bool = False,
    ) -> str:
        """Return a listing page: a teaser for each article, and links (`turn`) to listing pages."""
        length = (30 if short else 60) if zh else (60 if short else 240)
        teasers = []
        for entry in entries:
            head, lead = link(entry.path, entry.text.title), first_sentences(entry.text, length)
            teasers.append(
                f'<div class="item"><h2>{head}</h2><p>{escape(lead)}</p>'
                f'<span class="time">{entry.date}</span></div>'
                if zh
                else f'<article class="teaser"><h2>{head}</h2>\n<p>{escape(lead)}</p>\n'
                f'<p class="teaser__meta">{escape(entry.byline)}, {entry.date}</p></article>'
            )
        content = f"<h1>{escape(title)}</h1>\n" + "\n".join(teasers) + "\n"
        content += "\n".join(link(*target) for target in turn)
        return self.section(path, Text(title, ()), content, zh=zh, kind="listing")

    def plain(
        self, path: str, text: Text, *, zh: bool, extra: str = "", kind: str = "about"
    ) -> str:
        """Return a page that is no article: about, contact, the calendar, or a soft 404."""
        content = f'<div class="text">\n<h1>{escape(text.title)}</h1>\n{prose(text)}\n{extra}</div>'
        return self.section(path, text, content, zh=zh, kind=kind)

    def print(self, path: str, article: Article, text: Text) -> str:
        """Return the print version of an article."""
        return fill(
            "print",
            path,
            lang=article.lang,
            title=escape(text.title),
            content=prose(text),
            byline=escape(article.byline),
            date=article.date,
            article_path=article.path,
            back_label="Back to the article" if article.lang == "en" else "返回原文",
        )

    def mirror(
        self,
        path: str,
        text: Text,
        lang: str,
        *,
        article: Article | None = None,
        contents: str = "",
    ) -> str:
        """Return a page of the mirror: an article, or a page with `contents` (HTML)."""
        return fill(
            "mirror",
            path,
            lang=lang,
            title=escape(text.title),
            main_url=self.main_url,
            content=contents or prose(text, path),
            byline=escape(article.byline) if article else "Computing centre",
            date=article.date if article else "copied nightly",
        )

    def wire(
        self,
        path: str,
        text: Text,
        date: str,
        *,
        more: Sequence[tuple[str, str]] = (),
        contents: str = "",
    ) -> str:
        """Return a page of the partner site, in nested divs: a text, or `contents` (HTML)."""
        around = "".join(f"<div>{link(*target)}</div>" for target in more)
        return fill(
            "wire",
            path,
            title=escape(text.title),
            main_url=self.main_url,
            content=contents or soup(text),
            byline="Coastal Wire desk",
            date=date,
            more=around,
        )

    def _sidebar(self, path: str, *, zh: bool, listing: bool) -> str:
        """Return the boxes beside the content. On listing pages, some links have session ids."""
        names = MOST_READ_ZH if zh else MOST_READ_EN
        ranked = self._pick(path, names, len(names) - 1, with_sessions=listing)
        boxes = [box("热门排行" if zh else "Most read", links(ranked, "ol"), zh=zh)]
        if path in DEAD_LINKS:
            boxes.append(box("资料" if zh else "Archive", links(DEAD_LINKS[path]), zh=zh))
        return "\n".join(boxes)

    def _pick(
        self, path: str, names: Sequence[str], count: int, *, with_sessions: bool = False
    ) -> list[tuple[str, str]]:
        """Return `count` links (path, title) to articles, in an order that varies by page."""
        shuffled = sorted(names, key=lambda name: number_for(path + name, 2**32))
        chosen = [self.articles[n] for n in shuffled if self.articles[n].path != path][:count]
        sessions = self.sessions if with_sessions else {}
        return [(sessions.get(a.name, a.path), a.text.title) for a in chosen]
