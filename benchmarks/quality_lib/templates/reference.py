"""Families of reference works: API pages, glossary, library catalogue, town hall services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, paragraphs, section, table
from quality_lib.templates.sites import Content
from quality_lib.templates.words import DAYS

if TYPE_CHECKING:
    from random import Random

_VERBS = "open close read write merge split sort filter map fold encode decode seek scan".split()
_NOUNS = "frame block stream column index chunk cursor batch".split()
_TYPES = "int str bytes float bool Path Frame Stream Cursor".split()
_PARAMETERS = {
    "limit": "the largest number of rows; None for all of them",
    "strict": "raise an error on the first row that cannot be converted",
    "axis": "along which it is done, 0 for rows and 1 for columns",
    "timeout": "seconds to wait for the lock",
    "encoding": "how text is stored",
    "copy": "leave the argument as it is and return a new object",
    "key": "a function of one row, by which rows are compared",
    "fill": "what takes the place of missing values",
    "level": "how hard to compress, from 0 to 9",
    "buffer": "an object to reuse, of at least the same size",
}


def api_reference(dice: Random) -> list[Content]:
    """Functions of a library, a page each."""
    names = [f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS]
    return [Content(f"tabula.{name}", _function(name, dice)) for name in dice.sample(names, 50)]


def _function(name: str, dice: Random) -> str:
    verb, noun = name.split("_")
    chosen = dice.sample(sorted(_PARAMETERS), 3)
    result = dice.choice(_TYPES)
    rows = [[key, dice.choice(_TYPES), _PARAMETERS[key]] for key in chosen]
    version = f"{dice.randint(0, 3)}.{dice.randint(0, 12)}"
    return "\n".join(
        [
            f"<pre>tabula.{name}({noun}, *, {', '.join(chosen)}) -> {result}</pre>",
            paragraphs(f"{verb.capitalize()} a {noun} and return a {result}."),
            section("Parameters", table(("Name", "Type", "Meaning"), rows)),
            section("Raises", items([f"{noun.capitalize()}Error: the {noun} is damaged."])),
            facts([("New in version", version)]),
            section(
                "Notes",
                paragraphs(
                    "This function is part of the stable interface and follows the rules of "
                    "semantic versioning. It may be called from several threads at once, as long "
                    "as each of them works on an object of its own. Errors derive from "
                    "TabulaError.",
                    "Examples can be run in the browser after the runtime has been loaded; see the "
                    "section on getting started for how to install the library and its optional "
                    "parts on your own machine.",
                ),
            ),
        ]
    )


_TERMS = (
    "Aft|Ballast|Bilge|Bowline|Capstan|Cleat|Coaming|Davit|Fairlead|Fathom|Forestay|Gaff|Gunwale|"
    "Halyard|Hawser|Jib|Keelson|Lanyard|Lee|Luff|Mizzen|Painter|Port|Quarterdeck|Ratline|Reef|"
    "Rowlock|Scupper|Sheet|Shroud|Spinnaker|Stanchion|Thwart|Tiller|Topmast|Transom|Trysail|Warp|"
    "Windlass|Windward|Yard|Yawl"
).split("|")
_KINDS = (
    "a rope|a fitting|a sail|a part of the hull|a direction|a knot|a spar|a measure|a beam|a small "
    "boat|a winding gear|an opening in the deck"
).split("|")
_USES = (
    "that is belayed first in a blow|which harbour masters ask for|found on herring drifters|known "
    "from shanties|that rots before all else|which a cadet learns in the first week|made of ash "
    "until the war|that carries the weight of an anchor|seldom seen on modern yachts|which must "
    "never be painted|for work close inshore|that insurers inspect"
).split("|")


def glossary(dice: Random) -> list[Content]:
    """Terms of a glossary, whose h1 is the site's logo."""
    return [Content(term, _term(term, dice)) for term in _TERMS]


def _term(term: str, dice: Random) -> str:
    first, second = dice.sample(_USES, 2)
    related = dice.sample(_TERMS, 4)
    return "\n".join(
        [
            paragraphs(
                f"{term}: {dice.choice(_KINDS)} {first}, {second}. Recorded since "
                f"{dice.randint(1480, 1890)}; from {dice.choice(('Dutch', 'Norse', 'French'))}.",
                f"See also: {', '.join(related)}.",
            ),
            section(
                "About this glossary",
                paragraphs(
                    "The glossary was compiled by volunteers of the maritime museum from logbooks, "
                    "letters and conversations with retired fishermen, and is free to use for "
                    "teaching. Spellings follow the oldest source. If you know a word that is "
                    "missing, or a meaning that differs on your stretch of the coast, write to us "
                    "and tell us where you heard it.",
                    "Pronunciations can be heard in the reading room of the museum from Tuesday to "
                    "Friday, and recordings may be ordered on disc for the cost of the postage.",
                ),
            ),
        ]
    )


_SERVICES = (
    "Dog licence|Resident's parking permit|Passport|Fishing permit|Building permit|Birth "
    "certificate|Change of address|Marriage registration|Street party permit|Bulky waste "
    "collection|Garden waste bin|Allotment|Busker's permit|Skip permit|Tree felling permit|School "
    "place|Library card|Bus pass|Lost property claim|Market stall|Noise complaint|Rat control|"
    "Grave plot|Voter registration|House number|Bonfire permit|Film permit|Taxi licence|Food "
    "hygiene check|Chimney inspection|Flood grant|Heating allowance|Home care visit|Hall hire|"
    "Boat mooring|Drone permit|Scaffold permit|Street light repair|Well registration|Dropped kerb|"
    "Charity collection|Fireworks permit"
).split("|")
_PAPERS = (
    "proof of identity|a site plan|the owner's consent|two photographs|proof of insurance|the old "
    "document|a bank statement|a tenancy agreement|a vet's certificate|a sketch of the area"
).split("|")


def town_services(dice: Random) -> list[Content]:
    """Services of a town hall, all with the same title and an h1 of their own."""
    return [Content(service, _service(dice)) for service in _SERVICES]


def _service(dice: Random) -> str:
    terms = [
        ("Office", f"Room {dice.randint(1, 4)}{dice.randint(1, 30):02}"),
        ("Fee", f"€{dice.randint(0, 240)}.{dice.choice(('00', '50'))}"),
        ("Takes", f"{dice.randint(2, 60)} days"),
        ("Open", f"{dice.choice(DAYS[:3])} and {dice.choice(DAYS[3:5])}"),
        ("Form", f"{dice.choice('ABCDEF')}{dice.randint(10, 99)}/{dice.randint(2, 9)}"),
    ]
    return "\n".join(
        [
            facts(terms),
            section("What you have to bring", items(dice.sample(_PAPERS, 3))),
            section(
                "How to apply",
                paragraphs(
                    "You can apply in person, by post or online with your electronic identity "
                    "card. Please make an appointment if you want to come to the town hall; "
                    "without one you may have to wait for more than an hour. Somebody else can act "
                    "for you if they bring a letter of authority and a copy of your passport.",
                    "Fees are due when you apply and can be paid by card. You may object to a "
                    "decision within a month of receiving it. Your data are processed under the "
                    "data protection act and deleted after ten years.",
                ),
            ),
        ]
    )


_SUBJECTS = (
    "tides|lighthouses|salt|glaciers|weaving|owls|bridges|fevers|orchards|clocks|bells|peat|"
    "herring|canals|comets|mosses|ferries|wolves|lace|volcanoes"
).split("|")
_FORMS = (
    "A short history of {}|The book of {}|On {}|{} explained|Letters about {}|A field guide to {}|"
    "Among {}|{} and other stories"
).split("|")
_SHELVES = "Reading room|Open stack|Closed stack|Map room|Children's corner|Mobile library".split(
    "|"
)


def catalogue(dice: Random) -> list[Content]:
    """Records of a library's catalogue; titles begin with the library, and the h1 is its logo."""
    titles = [form.format(subject).capitalize() for form in _FORMS for subject in _SUBJECTS]
    return [Content(title, _record(title, dice)) for title in dice.sample(titles, 50)]


def _record(title: str, dice: Random) -> str:
    number = dice.randint(100, 999)
    rows = [
        ("Title", title),
        ("Published", str(dice.randint(1880, 2025))),
        ("Extent", f"{dice.randint(60, 900)} pages"),
        ("Call number", f"{number}.{dice.randint(1, 99)} {title[:3].upper()}"),
        (
            "ISBN",
            f"978-0-{dice.randint(1000, 9999)}-{dice.randint(1000, 9999)}-{dice.randint(0, 9)}",
        ),
        ("Shelf", dice.choice(_SHELVES)),
        ("Copies", str(dice.randint(1, 6))),
        ("Due back", f"in {dice.randint(2, 30)} days"),
    ]
    return "\n".join(
        [
            table((), rows),
            section(
                "Borrowing",
                paragraphs(
                    "Books are lent for four weeks and can be renewed twice unless another reader "
                    "has reserved them. Works printed before 1900, maps and newspapers may only be "
                    "used in the reading room. Orders from the closed stack are brought up on the "
                    "hour until four in the afternoon.",
                    "A reminder is sent three days before a book is due. The charge for late books "
                    "is twenty cents a day for adults; children pay nothing.",
                ),
            ),
        ]
    )
