"""The articles of the demo site: their listing pages, dates and bylines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .text import Text, read_text

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Article:
    """An article, unedited. `section` is the path of the listing page that links to it."""

    name: str
    slug: str
    section: str
    date: str
    byline: str
    text: Text

    @property
    def lang(self) -> str:
        """The language for the ``lang`` attribute; one article is in traditional characters."""
        if self.name == "zh-bridge":
            return "zh-Hant"
        return "zh-Hans" if self.name.startswith("zh") else "en"

    @property
    def path(self) -> str:
        """The path at which the article was published."""
        return f"/news/{self.slug}.html" if self.lang == "en" else f"/zh/news/{self.slug}.html"


# name | slug | listing page that links to it | date | byline
_CATALOG = """
en-ferry             | battery-ferry-trials | /            | 13 October 2026   | By our harbour desk
en-flood             | flood-gates-hold     | /            | 9 October 2026    | By our harbour desk
en-football          | athletic-promoted    | /            | 5 October 2026    | By our sports desk
en-harbour-week-42   | harbour-week-42      | /            | 16 October 2026   | By the tide table
en-nightbus          | night-buses-return   | /news/       | 12 October 2026   | By our town desk
en-library           | reading-room-reopens | /news/       | 8 October 2026    | By our town desk
en-radio             | skerry-radio         | /news/       | 7 October 2026    | By our islands desk
en-minutes-october   | council-minutes-oct  | /news/       | 14 October 2026   | From the town hall
en-short-bridge      | iron-bridge-lorries  | /news/       | 11 October 2026   | By our town desk
en-lighthouse        | lens-comes-home      | /news/page/2 | 30 September 2026 | By our islands desk
en-school-meals      | mill-lane-kitchen    | /news/page/2 | 28 September 2026 | By our town desk
en-harbour-week-41   | harbour-week-41      | /news/page/2 | 9 October 2026    | By the tide table
en-minutes-september | council-minutes-sept | /news/page/2 | 16 September 2026 | From the town hall
en-short-pool        | lido-in-winter       | /news/page/2 | 25 September 2026 | By our sports desk
en-seagrass          | seagrass-meadow      | /life/       | 6 October 2026    | By our coast desk
en-bakery            | saltmarsh-end-bakery | /life/       | 3 October 2026    | By our country desk
en-short-choir       | dockers-choir        | /life/       | 1 October 2026    | By our arts desk
en-wreck             | widow-sands-timbers  | /life/page/2 | 24 September 2026 | By our arts desk
en-bees              | hospital-bees        | /life/page/2 | 19 September 2026 | By our town desk
zh-metro             | huanxian             | /zh/         | 2026年10月12日       | 城市新闻组
zh-canteen           | shequ-shitang        | /zh/         | 2026年10月10日       | 城市新闻组
zh-noodle            | mianguan-banjia      | /zh/         | 2026年10月8日        | 文化组
zh-stars             | wuding-tianwentai    | /zh/         | 2026年10月6日        | 教育组
zh-tea               | yunling-chayuan      | /zh/page/2   | 2026年4月9日         | 乡村组
zh-crane             | baihe-yueliang-hu    | /zh/page/2   | 2026年10月5日        | 乡村组
zh-rice              | wurenji-bozhong      | /zh/page/2   | 2026年6月2日         | 乡村组
zh-bridge            | qingxi-shiqiao       | /zh/page/2   | 2026年9月20日        | 文化组
"""


def load_articles() -> dict[str, Article]:
    """Return the articles by name, in the order of the catalogue."""
    articles = {}
    for line in _CATALOG.strip().splitlines():
        name, slug, section, date, byline = (field.strip() for field in line.split("|"))
        text = read_text(HERE / "articles" / f"{name}.txt")
        articles[name] = Article(name, slug, section, date, byline, text)
    return articles
