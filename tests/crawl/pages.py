"""Pages for the crawls: articles in a site's template, and their near-duplicates."""

import random
from html import escape

_SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo wu xa ye zi".split()


def story(seed, paragraphs=3):
    """Return paragraphs of four sentences each, the same for the same seed."""
    chance = random.Random(str(seed))

    def words(count):
        return " ".join("".join(chance.choices(_SYLLABLES, k=3)) for _ in range(count))

    sentences = [f"{words(6)}, {words(7)}".capitalize() for _ in range(4 * paragraphs)]
    parts = (sentences[at : at + 4] for at in range(0, len(sentences), 4))
    return "\n".join(". ".join(part) + "." for part in parts)


_TITLES = {
    "mill": "The tide mill turns again",
    "bees": "Hives above the car park",
    "paper": "A sheet from rags",
    "tram": "The last conductor on line seven",
    "ice": "Cutting the lake",
    "clock": "Who winds the tower clock",
    "kite": "Letters from a kite museum",
}
ARTICLES = {name: (title, story(name)) for name, title in _TITLES.items()} | {
    "茶园": (
        "山坡上的茶园",
        (
            "清明前后,山坡上的茶园总是天还没亮就热闹起来。采茶的妇女背着竹篓,沿着石阶一层一层往上走,"
            "手指在嫩芽之间飞快地移动。她们说,太阳一出来,露水干了,茶叶的香味就会减少一半。\n"
            "鲜叶当天中午必须送到村口的作坊。老师傅先把叶子摊在竹席上晾两个小时,再倒进烧热的铁锅里翻炒。"
            "炒茶不能戴手套,因为温度只有手掌才知道。一锅茶从绿色变成墨色,大约需要四十分钟,"
            "其间没有人说话,只听见柴火噼啪作响。\n"
            "傍晚时分,新茶装进陶罐,用棉纸封好口。第一罐照例留给山下的小学,校长会在开学那天泡给所有家长喝。"
            "其余的卖到城里,价格每年不同,取决于春天下了几场雨。"
        ),
    ),
    "石桥": (
        "修桥的人",
        (
            "镇子东头有一座三孔石桥,桥面上的车辙深得可以盛水。去年夏天的洪水冲走了一个桥墩,"
            "交通部门原本打算拆掉它,另建一座水泥大桥。居民们在祠堂里开了三个晚上的会,最后决定自己修。\n"
            "石料取自上游废弃的采石场,每一块都按照旧的尺寸凿成。工匠们不用水泥,而是把糯米煮成浆,"
            "掺上石灰和细沙,据说这样的灰浆越老越硬。年轻人负责搬运,老人坐在岸边指点,"
            "小孩子数着每天增加了多少块石头。\n"
            "合龙那一天,全镇放了假。最后一块石头落下去的时候,有人在桥下点燃鞭炮,河面上的鸭子四散而逃。"
            "如今卡车仍然绕道行驶,但是自行车、行人和水牛又可以从桥上经过了。"
        ),
    ),
}
NAVIGATION = ("Home", "Archive", "Weather", "Contact")


def page(name, *, copy=None, links=(), append="", head=""):
    """Return an article, or a text made from a name, as a page.

    :param copy: makes a near-duplicate: another number in the text, another navigation.
    :param links: followed by the test spiders.
    :param append: one more paragraph.
    """
    title, text = ARTICLES.get(name) or (name, story(name))
    if copy is not None:
        text += f" {copy}"
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in [*text.split("\n"), append] if part)
    menu = "".join(f'<li><a href="#{word}">{word} {copy or ""}</a></li>' for word in NAVIGATION)
    more = "".join(f'<a class="next" href="{link}">more</a> ' for link in links)
    return (
        f"<!DOCTYPE html><html><head><title>{escape(title)}</title>{head}"
        '<style>p { margin: 0 }</style><script>var visits = "many";</script></head><body>'
        f'<header><h2>The Estuary Gazette</h2></header><nav><ul class="menu">{menu}</ul></nav>'
        f"<article><h1>{escape(title)}</h1>{paragraphs}</article>"
        f'<div class="pager">{more}</div><footer><p>Printed on the quay.</p></footer></body></html>'
    )


def put_articles(site, *articles):
    """Put articles, each told as its path, its name and the number of a copy. Return their URLs."""
    return [
        site.put(path, page(name, copy=int(copy[0]) if copy else None))
        for path, name, *copy in map(str.split, articles)
    ]
