"""Families whose pages differ by their names: by a colour, a symbol, or the order of two words."""

from __future__ import annotations

from html import escape
from itertools import permutations
from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, joined, paragraphs, section, table, told
from quality_lib.templates.sites import Content
from quality_lib.templates.words import COLOURS, STREETS, TOWNS, words_of

if TYPE_CHECKING:
    from random import Random

_WORDS = words_of("naming")
_JACKETS = ("Alder 200", "Alder 200 Lite", "Brae", "Corrie Hooded")


def own_headings(dice: Random) -> list[Content]:
    """Jackets and their colours: a colour has the heading of its jacket, and the colour."""
    contents = []
    for name in _JACKETS:
        contents.append(Content(name, _jacket(name, dice)))
        contents += [
            Content(f"{name} – {colour.lower()}", _jacket(name, dice))
            for colour in dice.sample(COLOURS, 11)
        ]
    return contents


def _jacket(name: str, dice: Random) -> str:
    return joined(
        paragraphs(
            f"€{119 + len(name)}.00",
            f"The {name} is a light jacket for wind and showers. It packs into its own pocket, "
            "weighs less than a book, and breathes well enough for a run up the hill. The hood "
            "fits over a helmet, and the hem has a cord that can be drawn with one hand.",
            "The cloth is woven from old fishing nets and treated without fluorine. It dries "
            "within an hour. We repair zips and seams for as long as you wear it.",
        ),
        facts([("Article", f"{dice.randint(10000, 99999)}"), ("Fit", "regular")]),
    )


_SHOES = _WORDS["shoes"]
_UPPERS = "calf leather|felt and cork|goat suede|canvas|waxed cotton|deerskin|linen".split("|")


def quick_views(dice: Random) -> list[Content]:
    """Shoes as a shop shows them in a dialog: fragments without title and headings."""
    return [Content(name, _quick_view(dice)) for name in _SHOES]


def _quick_view(dice: Random) -> str:
    return paragraphs(
        f"€{dice.randint(89, 240)}.00",
        f"Upper: {dice.choice(_UPPERS)}.",
        "Sizes run small, so take one size more than usual. Measure your foot in the evening, "
        "standing, and compare with the table on our page. The shoes are sewn, not glued, and any "
        "cobbler can give them new soles.",
        "Sent within two days. You may return them within a month, clean and in their box; we pay "
        "for the way back.",
    )


def white_labels(dice: Random) -> list[Content]:
    """Insurance brokers, each on a domain of its own, with one template and one text."""
    return [
        Content(f"{town} Mutual", _broker(f"{town} Mutual", town, dice), brand=f"{town} Mutual")
        for town in dice.sample(TOWNS, 40)
    ]


def _broker(name: str, town: str, dice: Random) -> str:
    return joined(
        paragraphs(
            f"{name} has insured homes, boats and workshops since {dice.randint(1870, 1990)}. "
            f"You find us in {town}, {dice.choice(STREETS)} {dice.randint(1, 90)}, and by "
            f"telephone at 0{dice.randint(1000, 9999)} {dice.randint(10000, 99999)}.",
            "We compare the offers of eleven insurers, and say which one we would take. Advice "
            "costs nothing, and binds you to nothing. If there is damage, call us first: we "
            "fill in the forms, send an assessor, and see to it that the money comes.",
            "All contracts can be ended after one year. We look at yours once a year, and tell "
            "you if there is a better one. Your data stay with us, and are sold to nobody.",
        ),
        section(
            "Good to know",
            items(
                [
                    "Storm damage must be reported within a week.",
                    "A bicycle is insured only if it was locked.",
                    "Water that comes from below is not covered unless you ask for it.",
                ]
            ),
        ),
    )


_CURRENCIES = "EUR NOK SEK GBP CHF PLN CZK".split()


def currency_pairs(dice: Random) -> list[Content]:
    """Exchange rates in both directions."""
    return [
        Content(f"{one}/{other}", _pair(one, other, dice))
        for one, other in permutations(_CURRENCIES, 2)
    ]


def _pair(one: str, other: str, dice: Random) -> str:
    return paragraphs(
        f"1 {one} = {dice.randint(10, 99_999) / 1000} {other}",
        "Rates come from the market between banks, each minute while it is open, and from the last "
        "trade at weekends. Banks add a margin of their own, so that the amount you get in cash is "
        "another one. Ask for the final amount before you sign, and compare two offers at least.",
        "The chart shows the rate at the end of each day. You can set an alarm, which sends a "
        "message once the rate crosses a value of your choice. Alarms are free and last for ninety "
        "days. We do not trade ourselves, and earn nothing from what you choose.",
    )


_KEYS = "C C♯ C♭ D D♯ D♭ E E♭ F F♯ G G♯ G♭ A A♯ A♭ B B♭".split()
_COMPOUNDS = _WORDS["compounds"]


def symbols(dice: Random) -> list[Content]:
    """Scales and chemical compounds, whose names differ by a sign."""
    names = [*(f"{key} {mode}" for key in _KEYS for mode in ("major", "minor")), *_COMPOUNDS]
    return [
        Content(name, _entry(dice), path=f"entry-{number}") for number, name in enumerate(names)
    ]


def _entry(dice: Random) -> str:
    return joined(
        table((), [("Number", str(dice.randint(100, 999))), ("Page", str(dice.randint(9, 99)))]),
        paragraphs(*_WORDS["entry"]),
    )


_OPERATORS = _WORDS["operators"]


def operators(dice: Random) -> list[Content]:
    """Operators of a class, a page each."""
    return [
        Content(f"operator{_spaced(sign)} (quill::Range)", _operator(sign, dice), path=f"op-{n}")
        for n, sign in enumerate(_OPERATORS)
    ]


def _spaced(sign: str) -> str:
    return f" {sign}" if sign.isalpha() else sign


def _operator(sign: str, dice: Random) -> str:
    declared = escape(f"constexpr auto operator{_spaced(sign)}(const Range&);")
    return joined(
        paragraphs("Defined in header quill/range.h, since release 2.1."),
        f"<pre>{declared}</pre>",
        told(_WORDS, "operator: Parameters"),
        told(_WORDS, "operator: Notes"),
        facts([("Section", f"{dice.randint(1, 30)}.{dice.randint(1, 9)}")]),
    )
