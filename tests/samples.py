"""Texts, names and pages for several tests."""

from scrapy_simhash.names.names import Names, page_names

ENGLISH = (
    "The ferry to the northern islands leaves at six in the morning. Whoever misses it waits "
    "until noon: the second ferry of the day carries post, bread and newspapers, and on Fridays "
    "the brass band. Nobody on the islands owns a car, and nobody misses one."
)
CHINESE = (
    "每天清晨六点,开往北方群岛的第一班渡轮准时离开码头。错过这班船的旅客只能等到中午,"
    "因为第二班渡轮还要装运邮件、面包和报纸。岛上没有汽车,居民们步行或者骑自行车去学校和市场。"
)
TOKENS = ["six", "islands", "ferry", "渡轮", "ferry", "noon", "ferry", "six"]
NAVIGATION = "Timetable Fares Lost property Jobs"
FOOTER = "All times are local. Imprint. Privacy."
PARAGRAPHS = (
    (
        "The new ferry was launched on Saturday, in heavy rain, and before some two thousand people "
        "from all parts of the island. It carries ninety passengers, four horses, and the post."
    ),
    (
        "It replaces the old boat, which served for fifty-one years, survived two collisions, and "
        "never once left on time. The old boat becomes a museum, a café, or both; the council is to "
        "decide next month."
    ),
    (
        "Fares stay as they are, the harbour office says, although fuel costs more than ever. From "
        "October on, children under twelve travel free, and so do bicycles, dogs, and accordions."
    ),
)


def name_bytes(text):
    """Return what is stored of a title that is all that a page has."""
    return page_names(Names(text))[0]


def article_page(*paragraphs, aside=NAVIGATION, head=""):
    """Return a page with navigation, an article and a footer."""
    links = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in aside.split())
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs or PARAGRAPHS)
    return (
        f"<!DOCTYPE html><html><head><title>Ferry news</title>{head}"
        "<style>p { color: navy }</style><script>track('visit');</script></head><body>"
        f'<nav class="menu"><ul>{links}</ul></nav>'
        f'<div id="content" class="article"><h1>A new ferry</h1>{body}</div>'
        f'<div class="footer"><p>{FOOTER}</p></div></body></html>'
    )


TAGGED = "渡轮/n 今天/t 上午/t 离开/v 码头/n ，/wd 渡轮/n 满载/v 面包/n 和/c 报纸/n 、/wn 还有/v 邮件/n 。/wj"
GREEK = "Το πλοίο φεύγει στις έξι το πρωί. Όποιος το χάσει περιμένει ως το μεσημέρι."

# A reference with many small sections. readability takes one of them for the article.
REFERENCE_PAGE = (
    "<html><head><title>Counting boats</title></head><body>"
    '<nav><ul><li><a href="/">The front page of the documentation</a></li></ul></nav><div>'
    + "".join(
        '<section><div class="a"><div class="b"><div class="c">'
        f"<p>Returns how many {boats} lie in the harbour at that hour, as counted by the watch of "
        "the harbour office, who writes them down, by hand, in a book.</p>"
        f"<p>Between midnight and six in the morning nobody counts {boats}: the last count of the "
        "evening is returned instead, with a warning.</p></div></div></div></section>"
        for boats in "ferries barges tugs yachts trawlers canoes dredgers liners pilots".split()
    )
    + "</div></body></html>"
)
