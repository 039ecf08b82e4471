"""Families of notices: jobs, homes, profiles, forum threads, recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, paragraphs, section
from quality_lib.templates.sites import Content
from quality_lib.templates.words import MONTHS, STREETS, TOWNS

if TYPE_CHECKING:
    from random import Random

_JOBS = {
    "Night porter": "You greet late guests, keep the keys, and walk through the house every hour.",
    "Pastry cook": "You bake breakfast rolls from four in the morning and plan the cakes.",
    "Receptionist": "You answer the telephone in two languages and settle bills.",
    "Gardener": "You look after lawns, roses and the kitchen garden in all weathers.",
    "Housekeeper": "You lead a team of six and decide when a room is ready.",
    "Barista": "You open the coffee bar at seven and train newcomers at the machine.",
    "Caretaker": "You repair what breaks, from door handles to the boiler.",
    "Accounts clerk": "You check invoices, chase what is overdue and close each month.",
    "Laundry assistant": "You sort, wash and press linen for three houses.",
    "Events planner": "You turn a call from a couple into a wedding for ninety people.",
    "Kitchen porter": "You keep pans, floors and cold stores clean, and sign for deliveries.",
    "Bus driver": "You bring guests from the station and back, in a vehicle with sixteen seats.",
}
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
    return "\n".join(
        [
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
            section(
                "About us",
                paragraphs(
                    "Our family has kept inns for four generations, and today runs nineteen houses "
                    "along the coast. We employ people for who they are, and welcome applications "
                    "from everyone, whatever their age, origin or way of life.",
                    "Write a few lines about yourself and send them with your papers as one file. "
                    "You will hear from us within ten days. Please name the reference.",
                ),
            ),
        ]
    )


_HOMES = "Flat|Terraced house|Cottage|Maisonette|Loft|Bungalow|Studio".split("|")
_FEATURES = (
    "a south-facing balcony|a cellar with its own window|old floorboards|a new kitchen|two "
    "fireplaces|a bicycle shed|views over the canal|a walled yard|underfloor heating|a bay window|"
    "space for a workshop|a shared garden|stucco ceilings|a lift"
).split("|")


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
    return "\n".join(
        [
            paragraphs(f"{kind} with {first}, {second} and {third}."),
            facts(numbers),
            section(
                "Viewings",
                paragraphs(
                    "Viewings take place in groups of at most six people. Register through the "
                    "form with proof of income; you will be sent two dates to choose from. Please "
                    "do not ring at the door, the present tenants know nothing about appointments.",
                    "We charge tenants no commission. The deposit is two months' rent without "
                    "heating and may be paid in three parts. All particulars come from the owner, "
                    "and we cannot vouch for them.",
                ),
            ),
        ]
    )


_ADJECTIVES = (
    "quiet rusty mellow brisk tiny lunar amber frosty nimble sleepy salty vivid hollow sunny polar"
).split()
_ANIMALS = (
    "otter heron badger lynx magpie newt walrus gecko marten puffin stoat ibis carp vole dormouse"
).split()
_HOBBIES = (
    "film cameras|sourdough|radio kits|mountain huts|old maps|bookbinding|kites|fountain pens|"
    "tide pools|model trains|bell ringing|moss|cider|sundials|long-distance buses"
).split("|")
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
    return "\n".join(
        [
            paragraphs(f"Mostly here for {first}, sometimes for {second}."),
            facts(numbers),
            section("Badges", items(dice.sample(_BADGES, dice.randint(1, 4)))),
            section(
                "Contact",
                paragraphs(
                    "You must be logged in to send messages to members. Messages are private, but "
                    "moderators may read them when they are reported. Members who have not been "
                    "active for three years are asked by e-mail whether they want to keep their "
                    "account.",
                    "Please be kind to newcomers. What may be posted here and what may not is "
                    "written down in the rules of the house, which every member has accepted.",
                ),
            ),
        ]
    )


_PROBLEMS = (
    "hums when it is switched on|will not turn on|smells of burning|shows only zeros|leaks at the "
    "base|is stuck in French|loses the time|trips the fuse|vibrates badly|runs backwards|ignores "
    "the remote|forgets its settings|whistles at night|draws too much current"
).split("|")
_DEVICES = (
    "Orbit scanner|Tessa receiver|Polder pump|Mistral fan|Quarto printer|Lumen projector|Vesta "
    "kettle|Atlas router|Marlin sounder|Cobalt amplifier"
).split("|")
_TRIED = (
    "a factory reset|another cable|new batteries|cleaning the contacts|a different socket|an older "
    "firmware|leaving it unplugged for a night|swapping the fuse|a shorter lead|opening the case"
).split("|")


def forum_stubs(dice: Random) -> list[Content]:
    """Threads with one question, of which visitors cannot see the answers."""
    names = [f"{device} {problem}" for device in _DEVICES for problem in _PROBLEMS]
    return [Content(name, _thread(name, dice)) for name in dice.sample(names, 50)]


def _thread(name: str, dice: Random) -> str:
    first, second = dice.sample(_TRIED, 2)
    return "\n".join(
        [
            facts(
                [
                    ("Asked by", f"{dice.choice(_ADJECTIVES)}_{dice.choice(_ANIMALS)}"),
                    (
                        "On",
                        f"{dice.randint(1, 28)} {dice.choice(MONTHS)} {dice.randint(2015, 2026)}",
                    ),
                    ("Replies", str(dice.randint(0, 40))),
                    ("Views", str(dice.randint(50, 9000))),
                ]
            ),
            paragraphs(
                f"Since {dice.choice(MONTHS)} my {name}. I have tried {first} and {second}, "
                f"without success. Does anyone have an idea?"
            ),
            section(
                "Replies",
                paragraphs(
                    "You need an account to read the replies. Registration is free and takes less "
                    "than a minute; we will never pass on your address. Members also see pictures "
                    "and attachments, can subscribe to threads, and are shown no advertising.",
                    "If you already have an account, log in at the top of the page. Forgotten your "
                    "password? We will send you a link with which you can choose a new one.",
                ),
            ),
        ]
    )


_DISHES = "soup|tart|stew|salad|pie|curry|fritters|gratin|dumplings|broth|pickle|risotto".split("|")
_FOODS = (
    "leek|beetroot|mushroom|chickpea|pumpkin|kale|trout|lentil|chestnut|parsnip|spinach|celeriac|"
    "barley|fennel|cauliflower|potato"
).split("|")
_EXTRAS = (
    "butter|an onion|two eggs|a lemon|thyme|cream|smoked paprika|stock|parsley|garlic|walnuts|"
    "mustard|olive oil|breadcrumbs|nutmeg|a bay leaf"
).split("|")
_STEPS = (
    "Wash the {food} and cut it into slices as thick as a coin.",
    "Melt {extra} in a wide pan over low heat.",
    "Add the {food}, cover, and let it soften for {n} minutes.",
    "Stir in {extra} and season well.",
    "Bake for {n} minutes until the top is brown.",
    "Purée half of it and mix both halves again.",
    "Roast the {food} at {t} degrees with {extra}.",
    "Leave it to rest for {n} minutes before you cut it.",
    "Boil the {food} for {n} minutes, and keep a cup of the water.",
    "Serve warm with {extra}.",
)


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
    return "\n".join(
        [
            facts(
                [
                    ("Serves", str(dice.randint(2, 8))),
                    ("Takes", f"{dice.randint(3, 24) * 5} minutes"),
                    ("Stars", f"{dice.randint(30, 50) / 10}"),
                ]
            ),
            section("Ingredients", items([f"{dice.randint(2, 12) * 100} g of {food}", *extras])),
            section("Method", items(steps, "ol")),
            section(
                "Good to know",
                paragraphs(
                    "All of our recipes are cooked at least three times in an ordinary kitchen "
                    "before we print them. Spoons are level, ovens are set to fan, and eggs are of "
                    "medium size. Rate the recipe with stars, or tell us what you changed.",
                ),
            ),
        ]
    )
