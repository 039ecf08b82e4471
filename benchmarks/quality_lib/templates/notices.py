"""Families of notices: jobs, homes, profiles, forum threads, recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, joined, paragraphs, section, told
from quality_lib.templates.sites import Content
from quality_lib.templates.words import MONTHS, STREETS, TOWNS, words_of

if TYPE_CHECKING:
    from random import Random

_WORDS = words_of("notices")
_JOBS = _WORDS["jobs"]
_BRANCHES = 4


def jobs(dice: Random) -> list[Content]:
    """Job adverts of one employer: the same jobs in other places."""
    return [
        Content(f"{job} in {town}", _job(text, town, dice))
        for job, text in _JOBS.items()
        for town in dice.sample(TOWNS, _BRANCHES)
    ]


def _job(text: str, town: str, dice: Random) -> str:
    pay = dice.randint(115, 290) / 10
    terms = [
        ("Place of work", f"{dice.choice(STREETS)}, {town}"),
        ("Hours a week", str(dice.choice((12, 16, 20, 24, 30, 35, 38)))),
        ("Pay", f"{pay:.2f} an hour"),
        ("Begins", f"1 {dice.choice(MONTHS)}"),
        ("Reference", f"WL/{dice.randint(1000, 9999)}"),
    ]
    return joined(
        paragraphs(text),
        facts(terms),
        section(
            "What we offer",
            items(
                [
                    "five weeks of holiday, and your birthday off",
                    "meals on duty and a locker of your own",
                    "rosters that are fixed three weeks ahead",
                    "a discount of thirty per cent in all of our houses",
                ]
            ),
        ),
        told(_WORDS, "job: About us"),
    )


_HOMES = "Flat|Terraced house|Cottage|Maisonette|Loft|Bungalow|Studio".split("|")
_FEATURES = _WORDS["features"]


def homes(dice: Random) -> list[Content]:
    """Homes to let: the title has the address, the h1 is that of all homes of a kind."""
    found: dict[str, Content] = {}
    while len(found) < 45:
        kind, rooms = dice.choice(_HOMES), dice.randint(1, 6)
        name = f"{kind}, {dice.randint(1, 99)} {dice.choice(STREETS)}, {dice.choice(TOWNS)}"
        found[name] = Content(name, _home(kind, rooms, dice), heading=f"{kind} to let")
    return list(found.values())


def _home(kind: str, rooms: int, dice: Random) -> str:
    first, second, third = dice.sample(_FEATURES, 3)
    numbers = [
        ("Rooms", str(rooms)),
        ("Living space", f"{rooms * dice.randint(18, 31)} m²"),
        ("Built", str(dice.randint(1850, 2022))),
        ("Rent a month", f"€{dice.randint(40, 240) * 10}"),
        ("Available from", f"1 {dice.choice(MONTHS)}"),
        ("Energy", f"{dice.randint(28, 260)} kWh/m²"),
    ]
    return joined(
        paragraphs(f"{kind} with {first}, {second} and {third}."),
        facts(numbers),
        told(_WORDS, "home: Viewings"),
    )


_ADJECTIVES = (
    "quiet rusty mellow brisk tiny lunar amber frosty nimble sleepy salty vivid hollow sunny polar"
).split()
_ANIMALS = (
    "otter heron badger lynx magpie newt walrus gecko marten puffin stoat ibis carp vole dormouse"
).split()
_HOBBIES = _WORDS["hobbies"]
_BADGES = "Helper Chronicler Founder Marathon Archivist Navigator Mentor Translator".split()


def profiles(dice: Random) -> list[Content]:
    """Profiles of users: numbers, badges and a line about themselves."""
    names = [f"{adjective}_{animal}" for adjective in _ADJECTIVES for animal in _ANIMALS]
    return [
        Content(f"{name}{dice.choice(('', '', dice.randint(7, 99)))}", _profile(dice))
        for name in dice.sample(names, 48)
    ]


def _profile(dice: Random) -> str:
    first, second = dice.sample(_HOBBIES, 2)
    numbers = [
        ("Joined", f"{dice.choice(MONTHS)} {dice.randint(2009, 2026)}"),
        ("Posts", str(dice.randint(0, 9000))),
        ("Thanks received", str(dice.randint(0, 3000))),
        ("Last seen", f"{dice.randint(2, 59)} minutes ago"),
        ("From", dice.choice(TOWNS)),
    ]
    return joined(
        paragraphs(f"Mostly here for {first}, sometimes for {second}."),
        facts(numbers),
        section("Badges", items(dice.sample(_BADGES, dice.randint(1, 4)))),
        told(_WORDS, "profile: Contact"),
    )


_PROBLEMS = _WORDS["problems"]
_DEVICES = _WORDS["devices"]
_TRIED = _WORDS["tried"]


def forum_stubs(dice: Random) -> list[Content]:
    """Threads with one question, of which visitors cannot see the answers."""
    names = [f"{device} {problem}" for device in _DEVICES for problem in _PROBLEMS]
    return [Content(name, _thread(name, dice)) for name in dice.sample(names, 50)]


def _thread(name: str, dice: Random) -> str:
    first, second = dice.sample(_TRIED, 2)
    return joined(
        facts(
            [
                ("Asked by", f"{dice.choice(_ADJECTIVES)}_{dice.choice(_ANIMALS)}"),
                ("On", f"{dice.randint(1, 28)} {dice.choice(MONTHS)} {dice.randint(2015, 2026)}"),
                ("Replies", str(dice.randint(0, 40))),
                ("Views", str(dice.randint(50, 9000))),
            ]
        ),
        paragraphs(
            f"Since {dice.choice(MONTHS)} my {name}. I have tried {first} and {second}, "
            f"without success. Does anyone have an idea?"
        ),
        told(_WORDS, "thread: Replies"),
    )


_DISHES = "soup|tart|stew|salad|pie|curry|fritters|gratin|dumplings|broth|pickle|risotto".split("|")
_FOODS = _WORDS["foods"]
_EXTRAS = _WORDS["extras"]
_STEPS = _WORDS["steps"]


def recipes(dice: Random) -> list[Content]:
    """Recipe cards."""
    names = [f"{food} {dish}".capitalize() for food in _FOODS for dish in _DISHES]
    return [Content(name, _recipe(name, dice)) for name in dice.sample(names, 48)]


def _recipe(name: str, dice: Random) -> str:
    food = name.partition(" ")[0].lower()
    extras = dice.sample(_EXTRAS, 5)
    steps = [
        step.format(
            food=food, extra=dice.choice(extras), n=dice.randint(2, 50), t=dice.randint(16, 23) * 10
        )
        for step in dice.sample(_STEPS, 4)
    ]
    return joined(
        facts(
            [
                ("Serves", str(dice.randint(2, 8))),
                ("Takes", f"{dice.randint(3, 24) * 5} minutes"),
                ("Stars", f"{dice.randint(30, 50) / 10}"),
            ]
        ),
        section("Ingredients", items([f"{dice.randint(2, 12) * 100} g of {food}", *extras])),
        section("Method", items(steps, "ol")),
        told(_WORDS, "recipe: Good to know"),
    )
