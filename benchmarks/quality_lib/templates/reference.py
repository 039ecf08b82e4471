"""Families of reference works: API pages, glossary, library catalogue, town hall services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, joined, paragraphs, section, table, told
from quality_lib.templates.sites import Content
from quality_lib.templates.words import DAYS, words_of

if TYPE_CHECKING:
    from random import Random

_WORDS = words_of("reference")
_VERBS = "open close read write merge split sort filter map fold encode decode seek scan".split()
_NOUNS = "frame block stream column index chunk cursor batch".split()
_TYPES = "int str bytes float bool Path Frame Stream Cursor".split()
_PARAMETERS = _WORDS["parameters"]


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
    return joined(
        f"<pre>tabula.{name}({noun}, *, {', '.join(chosen)}) -> {result}</pre>",
        paragraphs(f"{verb.capitalize()} a {noun} and return a {result}."),
        section("Parameters", table(("Name", "Type", "Meaning"), rows)),
        section("Raises", items([f"{noun.capitalize()}Error: the {noun} is damaged."])),
        facts([("New in version", version)]),
        told(_WORDS, "function: Notes"),
    )


_TERMS = _WORDS["terms"]
_KINDS = _WORDS["kinds"]
_USES = _WORDS["uses"]


def glossary(dice: Random) -> list[Content]:
    """Terms of a glossary, whose h1 is the site's logo."""
    return [Content(term, _term(term, dice)) for term in _TERMS]


def _term(term: str, dice: Random) -> str:
    first, second = dice.sample(_USES, 2)
    related = dice.sample(_TERMS, 4)
    return joined(
        paragraphs(
            f"{term}: {dice.choice(_KINDS)} {first}, {second}. Recorded since "
            f"{dice.randint(1480, 1890)}; from {dice.choice(('Dutch', 'Norse', 'French'))}.",
            f"See also: {', '.join(related)}.",
        ),
        told(_WORDS, "term: About this glossary"),
    )


_SERVICES = _WORDS["services"]
_PAPERS = _WORDS["papers"]


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
    return joined(
        facts(terms),
        section("What you have to bring", items(dice.sample(_PAPERS, 3))),
        told(_WORDS, "service: How to apply"),
    )


_SUBJECTS = _WORDS["subjects"]
_FORMS = _WORDS["forms"]
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
    return joined(table((), rows), told(_WORDS, "record: Borrowing"))
