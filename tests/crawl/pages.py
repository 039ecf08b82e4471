"""Pages for the crawls: articles in a site's template, and their near-duplicates."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.crawl.site import Site

ARTICLES: dict[str, tuple[str, str]] = {
    "mill": (
        "The tide mill turns again",
        (
            "At low water the old tide mill looks like a barn that has lost its field. Twice a day "
            "the estuary fills the pond behind it, the gates fall shut, and the keeper waits until "
            "the channel outside has dropped below the sill. Then the wheel moves, slowly at first, "
            "and the whole building begins to hum.\n"
            "Volunteers spent nine winters on the repair. They replaced forty paddles of elm, cast a "
            "new iron bearing, and dug three hundred barrows of mud out of the race. The stones came "
            "from a quarry two valleys away, because the original ones had been sold as garden "
            "tables.\n"
            "Flour is ground on Saturdays whenever the moon allows it. Visitors may carry a sack up "
            "the ladder, listen to the damsel chatter against the shoe, and take home a kilogram of "
            "coarse wholemeal. The bakery on the quay buys everything that remains, and sells it as "
            "a loaf with a wave stamped into the crust."
        ),
    ),
    "bees": (
        "Hives above the car park",
        (
            "Eleven hives stand on the roof of a multi-storey garage, between a ventilation shaft "
            "and the letters of a hotel sign. From up there the bees reach the lime trees along the "
            "boulevard, the allotments behind the railway, and a forgotten cemetery full of ivy.\n"
            "City honey tastes different every month. In June it is pale and smells of mint, in "
            "August it turns dark, and after a rainy summer there is hardly any at all. The "
            "beekeepers weigh each colony with a luggage scale and write the number on the lid in "
            "chalk, so that a swarm or a thief would be noticed before the weekend.\n"
            "Drivers seldom know what happens over their heads. Only in May, when a cluster settles "
            "on a parking meter, does somebody telephone the attendant, who fetches a cardboard box, "
            "a goose feather and a great deal of patience from his cupboard."
        ),
    ),
    "paper": (
        "A sheet from rags",
        (
            "Making paper by hand needs three vats, two people and no conversation. One dips the "
            "mould into the cloudy water, lifts it level and shakes it once from right to left. The "
            "other turns the wet sheet onto a felt, lays another felt on top, and has the empty "
            "mould back before the next one drips.\n"
            "Cotton shirts give the strongest fibre. They are cut into strips, soaked for a week, "
            "and beaten until a spoonful stirred in a glass shows neither knots nor threads. Linen "
            "takes twice as long but rattles beautifully when it is dry.\n"
            "A hundred sheets make a post, which goes under the press with a groan. Afterwards they "
            "hang in the loft over ropes of cow hair, for a rope of hemp would leave a brown line. "
            "Bookbinders order the cream colour, painters the white, and one poet a grey that nobody "
            "else ever wanted."
        ),
    ),
    "tram": (
        "The last conductor on line seven",
        (
            "Line seven climbs from the harbour to the observatory in thirty-one minutes, and for "
            "most of that distance its single carriage is steeper than a staircase. A conductor "
            "still rides on the rear platform, because the brake there is turned with a wheel and "
            "not with a button.\n"
            "Passengers pay by the number of bends. Schoolchildren know that getting off before the "
            "fountain saves a coin, so the stop is crowded every afternoon with satchels and shouts. "
            "In fog the conductor rings a brass bell at each crossing, twice for uphill and three "
            "times for downhill.\n"
            "Engineers have drawn up a cable railway that would need nobody at all. The council has "
            "postponed its decision for the fourth year, officially because of the cost. Unofficially "
            "several members were seen on the rear platform on a Sunday, taking turns at the wheel."
        ),
    ),
    "ice": (
        "Cutting the lake",
        (
            "When the ice is as thick as a forearm is long, the village marks it into squares with a "
            "horse-drawn plough. Men with long saws follow the grooves, women steer the floating "
            "blocks along a channel with hooks, and children sprinkle sawdust wherever it becomes "
            "slippery.\n"
            "The icehouse is a round pit under a hill of turf. Four thousand blocks fit inside, "
            "packed in straw from the rye harvest, and even in September a third of them is left. "
            "Fishmongers used to send carts from the coast for it; today a single restaurant orders "
            "some for its oysters.\n"
            "Nobody would need to do this any longer, and that is perhaps why everyone comes. There "
            "is soup from a copper kettle, a race on borrowed skates, and a prize for the clearest "
            "block, through which the oldest inhabitant must be able to read a newspaper."
        ),
    ),
    "clock": (
        "Who winds the tower clock",
        (
            "One hundred and eighteen steps lead to a wooden cabinet in which the town's time is "
            "kept. The mechanism has no electricity: two weights of granite sink down the shaft, and "
            "each Tuesday someone cranks them up again, which takes a quarter of an hour and leaves "
            "the shoulders warm.\n"
            "The pendulum swings once in two seconds. A penny placed upon its bob makes the clock "
            "gain half a second a day, so a small stack of old coppers regulates the whole market "
            "square. Swallows, frost and a stuck shutter have all stopped it within living memory.\n"
            "A list of winders hangs inside the door, beginning with a cooper and continuing through "
            "teachers, a dentist and one complete handball team. New names are welcome. The only "
            "condition is to answer the question of every tourist, who would like to know whether "
            "the bells can be switched off at night."
        ),
    ),
    "kite": (
        "Letters from a kite museum",
        (
            "Half of the collection cannot be shown, because silk that has flown in salt air "
            "crumbles under lamps. The curator keeps it in flat drawers, wrapped in unbleached "
            "muslin, and opens them for schools on request. What hangs from the ceiling are copies "
            "sewn by pensioners, and every one of them has been tested on the dunes.\n"
            "A box kite from a weather station once carried a thermometer to three kilometres. Its "
            "line was piano wire, and when it broke the reel operator cycled through four parishes "
            "to collect the instruments, which were still ticking in a turnip field.\n"
            "Visitors write wishes on paper tails and leave them in a basket. On the windiest day of "
            "the year the staff tie all of them to the largest kite, let out the string until the "
            "knots run out, and cut it."
        ),
    ),
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


def page(
    name: str,
    *,
    copy: int | None = None,
    links: Iterable[str] = (),
    append: str = "",
    head: str = "",
) -> str:
    """Return an article as a page.

    :param copy: makes a near-duplicate: another number in the text, another navigation.
    :param links: followed by the test spiders.
    :param append: one more paragraph.
    """
    title, text = ARTICLES[name]
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


def put_articles(site: Site, *articles: str) -> list[str]:
    """Put articles, each told as its path, its name and the number of a copy. Return their URLs."""
    return [
        site.put(path, page(name, copy=int(copy[0]) if copy else None))
        for path, name, *copy in map(str.split, articles)
    ]
