"""Families behind a long consent dialog: local news, films in a sentence, walks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, joined, paragraphs, section, table, told
from quality_lib.templates.sites import Content
from quality_lib.templates.words import DAYS, STREETS, TOWNS, words_of

if TYPE_CHECKING:
    from random import Random

_WORDS = words_of("consents")
_BUTTONS = "<button>Accept all</button> <button>Reject</button> <button>Settings</button>"
COOKIE_LAYER = (
    '<div id="cookie-consent" class="cookie-banner is-visible">\n'
    + told(_WORDS, "cookie_layer: Before you go on")
    + f"\n{_BUTTONS}\n</div>"
)
_VENDORS = _WORDS["vendors"]
CONSENT_OVERLAY = (
    '<div class="overlay" role="dialog" aria-modal="true" aria-label="We value your privacy">'
    + section(
        "We value your privacy",
        paragraphs(*_WORDS["consent_overlay: We value your privacy"]),
        table(
            ("Vendor", "Purpose", "Kept for"),
            [[name, "Measurement, personalised advertising", "13 months"] for name in _VENDORS],
        ),
    )
    + f"\n{_BUTTONS}\n</div>"
)
PRIVACY_DIALOG = (
    "<dialog open>" + told(_WORDS, "privacy_dialog: Privacy settings") + f"\n{_BUTTONS}\n</dialog>"
)

_REPORTS = _WORDS["reports"]
_SUBJECTS = _WORDS["subjects"]
_OBJECTS = _WORDS["objects"]


def news(dice: Random) -> list[Content]:
    """Short local news."""
    heads = dice.sample([f"{s} {o}" for s in _SUBJECTS for o in _OBJECTS], 50)
    return [Content(f"{head} in {dice.choice(TOWNS)}", _report(dice)) for head in heads]


def _report(dice: Random) -> str:
    sentences = [
        sentence.format(
            town=dice.choice(TOWNS),
            street=dice.choice(STREETS),
            day=dice.choice(DAYS),
            n=dice.randint(3, 90),
        )
        for sentence in dice.sample(_REPORTS, 7)
    ]
    return paragraphs(" ".join(sentences[:3]), " ".join(sentences[3:5]), " ".join(sentences[5:]))


_GENRES = "comedy drama western documentary thriller musical romance fable".split()
_PEOPLE = _WORDS["people"]
_PLOTS = _WORDS["plots"]
_FILM_FIRST = "Silent Borrowed Northern Paper Late Copper Second Hidden Salted Broken".split()
_FILM_LAST = "Harbour Winter Orchard Signal Letters Carousel Border Tenants Lantern Summer".split()


def films(dice: Random) -> list[Content]:
    """Films of a streaming site: a sentence, and facts."""
    names = [f"{first} {last}" for first in _FILM_FIRST for last in _FILM_LAST]
    return [Content(name, _film(dice)) for name in dice.sample(names, 48)]


def _film(dice: Random) -> str:
    year = dice.randint(1948, 2025)
    return joined(
        paragraphs(
            f"In this {dice.choice(_GENRES)} from {year}, {dice.choice(_PEOPLE)} "
            f"{dice.choice(_PLOTS)}, and nothing is as it was."
        ),
        facts(
            [
                ("Length", f"{dice.randint(62, 190)} minutes"),
                ("Rated", f"{dice.choice((0, 6, 12, 16))}+"),
                ("Languages", ", ".join(dice.sample(("en", "fr", "pl", "ja", "sv"), 2))),
                ("Available until", f"{dice.randint(1, 28)}.{dice.randint(1, 12)}.2027"),
            ]
        ),
        section(
            "Watch",
            items(["Play with subtitles", "Add to my list", "Report a problem with this film"]),
            paragraphs(*_WORDS["film: Watch"]),
        ),
    )


_SIGHTS = _WORDS["sights"]


def walks(dice: Random) -> list[Content]:
    """Walks between villages: a few facts, and what there is to see."""
    starts = dice.sample(TOWNS, 45)
    return [Content(f"From {start} to {dice.choice(TOWNS)}", _walk(dice)) for start in starts]


def _walk(dice: Random) -> str:
    length = dice.randint(40, 260)
    return joined(
        facts(
            [
                ("Length", f"{length / 10} km"),
                ("Climb", f"{dice.randint(4, 90) * 10} m"),
                ("Time", f"{max(1, length // 40)} hours"),
                ("Sheet", f"OL{dice.randint(1, 60)}"),
            ]
        ),
        section("On the way", items(dice.sample(_SIGHTS, 4), "ol")),
        section("Signs", items(["yellow arrow: footpath", "blue arrow: bridleway"])),
    )
