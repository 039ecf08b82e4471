"""Families behind a long consent dialog: local news, films in a sentence, walks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, paragraphs, section, table
from quality_lib.templates.sites import Content
from quality_lib.templates.words import DAYS, STREETS, TOWNS

if TYPE_CHECKING:
    from random import Random

_BUTTONS = "<button>Accept all</button> <button>Reject</button> <button>Settings</button>"
COOKIE_LAYER = (
    '<div id="cookie-consent" class="cookie-banner is-visible">\n'
    + section(
        "Before you go on",
        paragraphs(
            "We and our partners store information on your device, such as cookies, and read it "
            "again, and process personal data such as identifiers and the standard information "
            "that devices send, in order to show advertising and content that suit you, to measure "
            "how both are received, and to learn about the people who see them.",
            "With your permission we and our partners may use precise location data and identify "
            "your device by actively scanning it. You can click to consent to this processing as "
            "it is described above. You can also refuse consent, or open more detailed information "
            "and change your settings before you decide. Some processing of your personal data may "
            "not need your consent, but you have a right to object to it.",
            "Your settings apply to this website alone. You can change them at any time by coming "
            "back to this site, or by visiting our declaration of data protection, where you also "
            "find how long each cookie is kept, who our partners are, which of them pass data on "
            "to countries outside the union, and how you can complain to the authority in charge.",
        ),
        level=2,
    )
    + f"\n{_BUTTONS}\n</div>"
)
_VENDORS = (
    "Adfield|Bright Signals|Clickworks|Datamoor|Eyeline|Fairmetrics|Gridserve|Halo Audiences|"
    "Intento|Juno Exchange|Kompass Analytics|Liveroll"
).split("|")
CONSENT_OVERLAY = (
    '<div class="overlay" role="dialog" aria-modal="true" aria-label="We value your privacy">'
    + section(
        "We value your privacy",
        paragraphs(
            "To pay for our work we show advertising. If you agree, the firms below may store data "
            "on your device and combine what they learn here with what they know from other sites. "
            "If you disagree, you will see as many adverts as before, only less fitting ones.",
            "Necessary cookies keep you logged in, remember the contents of your basket and "
            "protect forms against misuse. They cannot be switched off. Preference cookies "
            "remember your language and the size of the letters. Statistics cookies help us to "
            "understand which pages are read to the end; they do not contain your name.",
            "Consent is voluntary, is not required for using this website, and can be withdrawn "
            "through the fingerprint symbol at the lower left of every page. Withdrawing it does "
            "not affect the lawfulness of what was processed until then.",
        ),
        table(
            ("Vendor", "Purpose", "Kept for"),
            [[name, "Measurement, personalised advertising", "13 months"] for name in _VENDORS],
        ),
    )
    + f"\n{_BUTTONS}\n</div>"
)
PRIVACY_DIALOG = (
    "<dialog open>"
    + section(
        "Privacy settings",
        paragraphs(
            "This website uses third-party services that store data on your device. We would like "
            "to use them to see how walkers find us, to show maps and films, and to pay for the "
            "upkeep of our signposts with some advertisements. You decide which of them you allow.",
            "Maps and films are delivered by firms that learn your address on the network when the "
            "page is loaded, and may process it outside the union, where the authorities may have "
            "access to it without your being told. By agreeing to these services you also agree to "
            "this transfer. Without them you will see a grey field where the map would be.",
            "You may change your mind whenever you like; a link at the end of each page brings "
            "back this window. Children under sixteen should ask their parents first. More about "
            "who we are and how to reach us can be found in our privacy notice and in the imprint.",
        ),
    )
    + f"\n{_BUTTONS}\n</dialog>"
)

_REPORTS = (
    "The council of {town} voted on {day} to close {street} to cars for the summer.",
    "Traders near {street} fear that they will lose a fifth of their customers.",
    "A swan held up the {n} bus to {town} for half an hour.",
    "Firefighters pumped {n} thousand litres out of a cellar in {street}.",
    "Nobody was hurt, but two cats are still missing.",
    "The choir of {town} is looking for tenors, and will rehearse on {day} evenings.",
    "Divers found a safe in the harbour; it was empty but for a tin of biscuits.",
    "Pupils planted {n} apple trees along the cycle path to {town}.",
    "A new kiosk in {street} sells coffee from {n} o'clock in the morning on.",
    "The footbridge will be out of use until the spring, an engineer told the committee.",
    "Police are asking for witnesses who saw a white van with a ladder on {day}.",
    "The museum has bought a painting of {town} in the great frost for {n} thousand.",
    "Residents collected {n} hundred signatures against the mast in {street}.",
    "The ferry to {town} broke down twice within a week, and its operator apologised.",
    "Volunteers counted {n} pairs of terns, more than in any year since records began.",
    "The bakery in {street} closes after three generations because no one wants to take it over.",
    "A court decided that the rooster may go on crowing, but not before {n} minutes past six.",
    "The swimming pool opens again on {day}, with warmer water and dearer tickets.",
    "Archaeologists uncovered the wall of a mill behind {street}.",
    "A visitor from {town} won the regatta by less than a boat's length.",
    "Rents in {street} have risen by {n} per cent in two years.",
    "The grammar school gets a roof garden, and the caretaker gets a hive.",
    "Trains to {town} will not stop at the old halt any more from {day} on.",
    "The mayor opened the dam with a pair of borrowed scissors.",
    "A crane of {n} metres arrived by night and blocked {street} until noon.",
    "The brass band of {town} played in the rain, for {n} listeners and a dog.",
    "Power failed in {n} households after a marten had bitten through a cable.",
    "The weekly market moves to {street} while the square is paved again.",
    "A lorry lost a load of onions on the bypass near {town}.",
    "The hospital is short of nurses and will close one ward from {day}.",
)
_SUBJECTS = (
    "Row about|New life for|Farewell to|Questions over|Delight at|Delay for|Money for|No end to|"
    "Second try for|Protest against"
).split("|")
_OBJECTS = (
    "the harbour crane|the night bus|the old mill|the ice rink|the bird hide|the lending library|"
    "the village pump|the cycle path|the bandstand|the slipway|the war memorial|the bottle bank"
).split("|")


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
_PEOPLE = (
    "a retired postman|two rival bakers|a girl who collects keys|a failed magician|the last miller|"
    "three sisters|a ship's cook|an honest burglar|a deaf piano tuner|twins parted at birth"
).split("|")
_PLOTS = (
    "inherits a lighthouse and a debt|finds a map inside an accordion|must cross the ice before "
    "spring|falls out over a recipe|takes a train that is on no timetable|learns to forge stamps|"
    "looks for a lost elephant|reopens a cinema|is mistaken for a minister|builds a boat in a flat"
).split("|")
_FILM_FIRST = "Silent Borrowed Northern Paper Late Copper Second Hidden Salted Broken".split()
_FILM_LAST = "Harbour Winter Orchard Signal Letters Carousel Border Tenants Lantern Summer".split()


def films(dice: Random) -> list[Content]:
    """Films of a streaming site: a sentence, and facts."""
    names = [f"{first} {last}" for first in _FILM_FIRST for last in _FILM_LAST]
    return [Content(name, _film(dice)) for name in dice.sample(names, 48)]


def _film(dice: Random) -> str:
    year = dice.randint(1948, 2025)
    return "\n".join(
        [
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
                paragraphs(
                    "Start your free month to watch this film and two thousand others. After that "
                    "it costs less than a cinema ticket, and you can cancel at any time.",
                ),
            ),
        ]
    )


_SIGHTS = (
    "lime kiln|hill fort|packhorse bridge|rookery|boundary stone|holy well|deserted village|"
    "viaduct|heronry|standing stone|watermill|tithe barn|signal box|bluebell wood|tarn|sheepfold"
).split("|")


def walks(dice: Random) -> list[Content]:
    """Walks between villages: a few facts, and what there is to see."""
    starts = dice.sample(TOWNS, 45)
    return [Content(f"From {start} to {dice.choice(TOWNS)}", _walk(dice)) for start in starts]


def _walk(dice: Random) -> str:
    length = dice.randint(40, 260)
    return "\n".join(
        [
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
        ]
    )
