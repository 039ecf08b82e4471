"""Families of shops: products, colour variants, listings, spare parts, Chinese products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import (
    facts,
    items,
    joined,
    links,
    paragraphs,
    section,
    table,
    told,
)
from quality_lib.templates.sites import Content, slug
from quality_lib.templates.words import COLOURS, words_of

if TYPE_CHECKING:
    from random import Random

_WORDS = words_of("shops")
_RANGES = _WORDS["ranges"]
_THINGS = _WORDS["things"]
_MATERIALS = _WORDS["materials"]
_SENTENCES = _WORDS["sentences"]
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
    return joined(
        paragraphs(
            f"€{price}.{dice.choice(('00', '50', '90'))}",
            dice.choice(_SENTENCES).format(material=material, thing=thing),
        ),
        section("Data sheet", table((), sheet)),
        told(_WORDS, "product: Delivery and returns"),
        told(_WORDS, "product: Care"),
    )


_CLOTHES = _WORDS["clothes"]


def colour_variants(dice: Random) -> list[Content]:
    """Clothes in many colours; a variant has its name, colour, article number and stock."""
    return [
        Content(f"{name}, {colour}", _garment(name, text, colour, dice))
        for name, text in _CLOTHES.items()
        for colour in dice.sample(COLOURS, 12)
    ]


def _garment(name: str, text: str, colour: str, dice: Random) -> str:
    sizes = [s for s in ("XS", "S", "M", "L", "XL", "XXL") if dice.random() < 0.7] or ["M"]
    return joined(
        f'<img src="/photos/{slug(name)}-{slug(colour)}.jpg" alt="{name}, {colour}">',
        paragraphs(f"€{34 + len(name)}.00", f"Colour: {colour}"),
        paragraphs(text),
        paragraphs(f"Sizes in stock: {', '.join(sizes)}"),
        facts([("Article", f"{slug(name)[:3].upper()}{dice.randint(1000, 9999)}")]),
        told(_WORDS, "garment: Fit"),
    )


_CATEGORIES = "Garden benches|Hand tools|Camping stoves|Bird feeders|Rain barrels".split("|")
_MAKERS = _WORDS["makers"]
_MODELS = _WORDS["models"]
_TEASERS = _WORDS["teasers"]


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
    return joined(
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
    )


_PARTS = _WORDS["parts"]
_MACHINES = "Lavora 300|Lavora 3000|Purus Eco|Kastor L7|Kastor L70|Undine Plus".split("|")


def spare_parts(dice: Random) -> list[Content]:
    """Parts of machines: names differ by a number, texts by what they fit."""
    names = dice.sample([f"{p} for {m}" for p in _PARTS for m in _MACHINES], 48)
    return [Content(name, _part(name, dice)) for name in names]


def _part(name: str, dice: Random) -> str:
    numbers = [f"{dice.randint(100, 999)}.{dice.randint(10, 99)}-{c}" for c in "ABC"]
    years = sorted(dice.sample(range(1998, 2024), 2))
    part, _, machine = name.partition(" for ")
    return joined(
        paragraphs(
            f"Original {part.lower()} for the {machine}, built from {years[0]} to {years[1]}. "
            "Please compare the part number before you order; it is printed on the old part or "
            "on the rating plate behind the door.",
            f"Price: €{dice.randint(6, 180)}.{dice.randint(10, 99)}, in stock: "
            f"{dice.randint(0, 60)}",
        ),
        section("Replaces part numbers", items(numbers)),
        told(_WORDS, "part: Safety"),
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
    return joined(
        paragraphs(
            f"这款{tea}来自{place}，入口{first}，余味{second}，适合{dice.choice('春夏秋冬')}天饮用。"
        ),
        section("规格", table((), sheet)),
        told(_WORDS, "tea: 购买须知"),
    )
