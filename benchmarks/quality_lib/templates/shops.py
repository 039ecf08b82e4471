"""Families of shops: products, colour variants, listings, spare parts, Chinese products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, links, paragraphs, section, table
from quality_lib.templates.sites import Content, slug
from quality_lib.templates.words import COLOURS

if TYPE_CHECKING:
    from random import Random

_RANGES = (
    "Alder Brink Cairn Dune Ember Fell Gale Heath Isle Juniper Kelp Linden Moor Nettle Osier "
    "Pebble Quill Reed Sorrel Thicket"
).split()
_THINGS = (
    "stool|bench|side table|bookcase|coat stand|desk lamp|floor lamp|mirror|bread bin|serving tray|"
    "laundry basket|shoe rack|wall clock|plant pot|candle holder|draught screen|footrest|"
    "magazine rack|umbrella stand|spice shelf|washstand|blanket box|towel rail|key cabinet"
).split("|")
_MATERIALS = (
    "solid oak|oiled ash|recycled steel|woven willow|powder-coated aluminium|smoked glass|"
    "unglazed stoneware|beech plywood|cast iron|braided jute|cork and felt|lacquered birch"
).split("|")
_SENTENCES = (
    (
        "Made of {material}, this {thing} holds its own in a narrow hall and is put together "
        "without a single screw."
    ),
    (
        "A {thing} of {material} for people who carry everything up four floors: light, flat when "
        "folded, and quiet on old boards."
    ),
    (
        "We drew the {thing} for a guest house by the sea, where damp, sand and wet towels ruin "
        "anything that is not {material}."
    ),
    (
        "Rounded edges and a low centre of gravity make this {thing} of {material} safe near small "
        "children."
    ),
    "Nothing on this {thing} is glued, so each part of {material} can be ordered and replaced.",
    (
        "Two people on our team have had a {thing} of {material} in daily use for nine years, "
        "which is why we still make it."
    ),
    "The joints of this {thing} show on purpose; {material} ages well where hands touch it.",
    "For corners that nothing fits: a {thing} in {material}, forty centimetres deep at most.",
    "Cut from offcuts of {material}, every {thing} has a grain and a number of its own.",
    "Stack it, hang it or turn it round: the {thing} of {material} has no front and no back.",
    "A village workshop turns {material} into this {thing} in about three hours.",
    "It began as a prop for a play, and the theatre still owns the first {thing} of {material}.",
)
_SHADES = "natural|black|white|warm grey|dark green|terracotta|smoke|honey".split("|")


def products(dice: Random) -> list[Content]:
    """Household goods with a sentence, a price and a data sheet each."""
    names = [f"{kind} {thing}" for kind in _RANGES for thing in _THINGS]
    # Shops name a larger model after the smaller one.
    chosen = ["Alder bench", "Alder bench with back", *dice.sample(names[24:], 48)]
    return [Content(name, _product(name, dice)) for name in chosen]


def _product(name: str, dice: Random) -> str:
    thing = name.partition(" ")[2]
    material = dice.choice(_MATERIALS)
    price = dice.randint(19, 420)
    sheet = [
        ("Width", f"{dice.randint(18, 160)} cm"),
        ("Depth", f"{dice.randint(12, 60)} cm"),
        ("Height", f"{dice.randint(15, 190)} cm"),
        ("Weight", f"{dice.randint(8, 320) / 10} kg"),
        ("Material", material),
        ("Colour", dice.choice(_SHADES)),
        ("Load", f"{dice.randint(2, 60) * 5} kg"),
        ("Article number", f"HP-{dice.randint(10000, 99999)}"),
        ("Guarantee", f"{dice.choice((2, 5, 10))} years"),
    ]
    return "\n".join(
        [
            paragraphs(
                f"€{price}.{dice.choice(('00', '50', '90'))}",
                dice.choice(_SENTENCES).format(material=material, thing=thing),
            ),
            section("Data sheet", table((), sheet)),
            section(
                "Delivery and returns",
                paragraphs(
                    "Orders placed before two o'clock leave our warehouse the same day. Parcels "
                    "arrive within three working days; furniture is brought to the kerb by a "
                    "haulier who calls you a day ahead.",
                    "You may send back anything you do not like within a hundred days, as long "
                    "as it has not been assembled. We collect large pieces and refund the price "
                    "within a week of their arrival.",
                ),
            ),
            section(
                "Care",
                paragraphs(
                    "Wipe with a damp cloth and dry at once. Keep out of direct sun in the first "
                    "weeks, and avoid household cleaners that contain solvents or bleach.",
                ),
            ),
        ]
    )


_CLOTHES = {
    "Lindow crew tee": (
        "A T-shirt of heavy organic cotton with a close collar that keeps its shape. The shoulders "
        "are taped, the side seams are straight, and the hem is long enough to stay tucked in. We "
        "wash every batch before it is cut, so what fits in the shop fits after the first wash. "
        "Knitted and sewn within forty kilometres of our workshop, and dyed with water that is "
        "used again."
    ),
    "Harbour overshirt": (
        "An overshirt for the days between two coats, of a dense brushed twill that turns wind and "
        "a short shower. Two chest pockets close with horn buttons, two more sit in the side seams "
        "for cold hands. Cut wide enough for a jumper underneath. The cuffs are faced with a "
        "second layer of cloth, for that is where our old ones wore out first."
    ),
    "Fellside walking trousers": (
        "Walking trousers of cotton and recycled nylon that dry in an hour on a line. The knees "
        "are shaped, the seat has a gusset, and the waist is lined with soft jersey under the belt "
        "of a rucksack. One zipped pocket takes a folded map. They can be shortened by any tailor "
        "without losing the drawcord at the ankle."
    ),
    "Tideline beanie": (
        "A ribbed beanie of lambswool from two farms on the same hill, spun slightly greasy so "
        "that drizzle runs off. It can be worn with a narrow brim, with a wide one, or pulled down "
        "over the ears. The crown is closed by hand with eight darts and lies flat. Wash it cold "
        "in wool soap, and never wring it."
    ),
}


def colour_variants(dice: Random) -> list[Content]:
    """Clothes in many colours; a variant has its name, colour, article number and stock."""
    return [
        Content(f"{name}, {colour}", _garment(name, text, colour, dice))
        for name, text in _CLOTHES.items()
        for colour in dice.sample(COLOURS, 12)
    ]


def _garment(name: str, text: str, colour: str, dice: Random) -> str:
    sizes = [s for s in ("XS", "S", "M", "L", "XL", "XXL") if dice.random() < 0.7] or ["M"]
    return "\n".join(
        [
            f'<img src="/photos/{slug(name)}-{slug(colour)}.jpg" alt="{name}, {colour}">',
            paragraphs(f"€{34 + len(name)}.00", f"Colour: {colour}"),
            paragraphs(text),
            paragraphs(f"Sizes in stock: {', '.join(sizes)}"),
            facts([("Article", f"{slug(name)[:3].upper()}{dice.randint(1000, 9999)}")]),
            section(
                "Fit",
                paragraphs(
                    "Our model is 184 cm tall and wears size M. If you are between two sizes, take "
                    "the larger one.",
                ),
            ),
        ]
    )


_CATEGORIES = "Garden benches|Hand tools|Camping stoves|Bird feeders|Rain barrels".split("|")
_MAKERS = (
    "Brandt Colby Dorn Ekdal Farrow Gannet Hobb Ivar Jessop Kittle Lomax Marl Nunn Orrin Pask "
    "Rudd Stroud Tolle Ulver Vane"
).split()
_MODELS = (
    "Classic|Duo|Trail|Compact|Solo|Heron|Estate|Mini|Vario|Junior|Professional|Cottage|Tramp|"
    "Terrace|Basic|Explorer"
).split("|")
_TEASERS = (
    "easy to clean",
    "delivered flat",
    "now with a cover",
    "spare parts in stock",
    "tested by our readers",
    "last ones",
    "for two people",
    "weighs under three kilos",
    "rust-free for ten years",
    "made to order",
    "with carrying strap",
    "winner of our test",
    "fits any balcony",
    "back again",
)


def listings(dice: Random) -> list[Content]:
    """Pages of lists of goods: one introduction and one h1 for ten pages of other goods."""
    return [
        Content(
            f"{category}, page {number} of 10", _listing(category, number, dice), heading=category
        )
        for category in _CATEGORIES
        for number in range(1, 11)
    ]


def _listing(category: str, number: int, dice: Random) -> str:
    goods = []
    for _ in range(12):
        name = f"{dice.choice(_MAKERS)} {dice.choice(_MODELS)} {dice.randint(10, 990)}"
        line = f"{name}: {dice.choice(_TEASERS)}, €{dice.randint(9, 499)}.{dice.randint(10, 99)}"
        goods.append((f"/goods/{slug(name)}", line))
    kind = category.lower()
    return "\n".join(
        [
            paragraphs(
                f"Welcome to our {kind}. On these pages we show everything that our buyers have "
                f"chosen for the season, from simple pieces for beginners to what professionals "
                f"ask for. All {kind} can be seen in our showroom, and we are glad to advise you "
                f"by telephone.",
                "Prices include tax. Delivery is free from an order value of sixty euros. Use the "
                "filters to narrow the list down by price, maker and rating, or sort it by what "
                "other customers liked best.",
            ),
            f"<p>Page {number} of 10</p>",
            links(goods),
            links((f"/{slug(category)}/{n}", str(n)) for n in range(1, 11)),
        ]
    )


_PARTS = (
    "Drain pump|Door seal|Heating element|Carbon brushes|Drive belt|Inlet valve|Thermostat|"
    "Upper basket|Spray arm|Filter sieve|Control board|Door hinge|Water hose|Shock absorber|"
    "Motor capacitor|Detergent drawer"
).split("|")
_MACHINES = "Lavora 300|Lavora 3000|Purus Eco|Kastor L7|Kastor L70|Undine Plus".split("|")


def spare_parts(dice: Random) -> list[Content]:
    """Parts of machines: names differ by a number, texts by what they fit."""
    names = dice.sample([f"{p} for {m}" for p in _PARTS for m in _MACHINES], 48)
    return [Content(name, _part(name, dice)) for name in names]


def _part(name: str, dice: Random) -> str:
    numbers = [f"{dice.randint(100, 999)}.{dice.randint(10, 99)}-{c}" for c in "ABC"]
    years = sorted(dice.sample(range(1998, 2024), 2))
    part, _, machine = name.partition(" for ")
    return "\n".join(
        [
            paragraphs(
                f"Original {part.lower()} for the {machine}, built from {years[0]} to {years[1]}. "
                "Please compare the part number before you order; it is printed on the old part or "
                "on the rating plate behind the door.",
                f"Price: €{dice.randint(6, 180)}.{dice.randint(10, 99)}, in stock: "
                f"{dice.randint(0, 60)}",
            ),
            section("Replaces part numbers", items(numbers)),
            section(
                "Safety",
                paragraphs(
                    "Disconnect the machine from the mains and turn off the water before you open "
                    "it. Work on electrical parts must be done by qualified people. We are not "
                    "liable for damage that is caused by parts fitted incorrectly.",
                    "If you are not sure which part you need, send us a photograph of the rating "
                    "plate, and our workshop will answer within a day.",
                ),
            ),
        ]
    )


_TEAS = (
    "云雾绿茶 高山乌龙 陈年普洱 茉莉花茶 祁门红茶 白毫银针 桂花乌龙 大叶滇红 竹叶青 六安瓜片"
).split()
_GRADES = "特级 一级 二级 礼盒装 试饮装".split()
_PLACES = "云南 福建 安徽 四川 浙江 湖南 贵州 广西".split()
_TASTES = "清香 醇厚 回甘 花香 果香 焦糖香 鲜爽 柔和".split()


def chinese_products(dice: Random) -> list[Content]:
    """Teas: a sentence and a data sheet each."""
    return [Content(f"{tea} {grade}", _tea(tea, grade, dice)) for tea in _TEAS for grade in _GRADES]


def _tea(tea: str, grade: str, dice: Random) -> str:
    place = dice.choice(_PLACES)
    first, second = dice.sample(_TASTES, 2)
    sheet = [
        ("品名", tea),
        ("等级", grade),
        ("产地", place),
        ("净含量", f"{dice.choice((50, 100, 125, 250, 500))}克"),
        ("采摘时间", f"2026年{dice.randint(3, 6)}月{dice.randint(1, 28)}日"),
        ("货号", f"CY{dice.randint(10000, 99999)}"),
        ("价格", f"{dice.randint(28, 980)}元"),
    ]
    return "\n".join(
        [
            paragraphs(
                f"这款{tea}来自{place}，入口{first}，余味{second}，适合{dice.choice('春夏秋冬')}天饮用。"
            ),
            section("规格", table((), sheet)),
            section(
                "购买须知",
                paragraphs(
                    "本店所有茶叶均由茶农直接供货，收到订单后四十八小时内发货。偏远地区的运输时间可能会延长两到"
                    "三天，请您耐心等待。",
                    "茶叶应存放在阴凉干燥的地方，避免阳光直射，不要与有异味的物品放在一起。开封以后请尽快饮用。",
                    "如果您对商品不满意，请在收到货物后七天内联系我们的客服人员，未开封的商品可以无条件退换。",
                ),
            ),
        ]
    )
