"""Families whose pages differ in tables: timetables, results, forecasts, dates and numbers."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from quality_lib.templates.markup import facts, items, joined, paragraphs, section, table, told
from quality_lib.templates.sites import Content
from quality_lib.templates.words import DAYS, MONTHS, STREETS, TOWNS, words_of

if TYPE_CHECKING:
    from random import Random


_WORDS = words_of("timings")


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"


def _month_and_year(number: int) -> tuple[str, int]:
    return MONTHS[number % 12], 2024 + number // 12


def timetables(dice: Random) -> list[Content]:
    """Bus lines: one introduction, other stops and times."""
    return [
        Content(f"Line {number}", _line(dice)) for number in sorted(dice.sample(range(1, 140), 48))
    ]


def _line(dice: Random) -> str:
    stops = dice.sample(TOWNS, 7)
    legs = [dice.randint(3, 14) for _ in stops]
    rows = []
    start = dice.randint(5 * 60, 7 * 60)
    columns = [start + n * dice.choice((30, 45, 60, 75)) for n in range(8)]
    for at, stop in enumerate(stops):
        rows.append([stop, *(_clock(first + sum(legs[:at])) for first in columns)])
    return joined(
        paragraphs(*_WORDS["line"]), section(f"From {stops[0]} to {stops[-1]}", table((), rows))
    )


_CLUBS = (
    "Rovers United Athletic Town Wanderers City Albion Harriers Rangers Thistle Villa Olympic"
).split()


def league_tables(dice: Random) -> list[Content]:
    """Football: a division's table in a season."""
    divisions = "Premier Division|Division One|Division Two|Division Three".split("|")
    return [
        Content(f"{division} {year}–{(year + 1) % 100:02}", _league(dice))
        for division in divisions
        for year in range(1990, 2002)
    ]


def _league(dice: Random) -> str:
    rows = []
    for town in dice.sample(TOWNS, 14):
        won, drawn = dice.randint(2, 18), dice.randint(0, 8)
        lost = 26 - min(26, won + drawn)
        goals = dice.randint(18, 80), dice.randint(18, 80)
        club = f"{town} {dice.choice(_CLUBS)}"
        rows.append((3 * won + drawn, [club, won, drawn, lost, *goals]))
    rows.sort(key=lambda row: -row[0])
    lines = [
        [str(place), *map(str, cells), str(points)] for place, (points, cells) in enumerate(rows, 1)
    ]
    header = ("Pos", "Club", "Won", "Drawn", "Lost", "For", "Against", "Points")
    return joined(paragraphs(*_WORDS["league"]), table(header, lines))


_SKIES = _WORDS["skies"]


def weather(dice: Random) -> list[Content]:
    """Forecasts for towns."""
    towns = [*dice.sample(TOWNS, 47), "Norton", "Norton Bay"]
    return [Content(f"Weather in {town}", _forecast(dice)) for town in towns]


def _forecast(dice: Random) -> str:
    rows = []
    low = dice.randint(-2, 14)
    for day in DAYS:
        high = low + dice.randint(3, 11)
        rows.append(
            [
                day,
                dice.choice(_SKIES),
                f"{low} °C",
                f"{high} °C",
                f"{dice.randint(0, 10) * 10} %",
                f"{dice.randint(4, 60)} km/h",
            ]
        )
        low += dice.randint(-3, 3)
    header = ("Day", "Sky", "Low", "High", "Rain", "Wind")
    return joined(
        paragraphs(*_WORDS["forecast"]),
        table(header, rows),
        told(_WORDS, "forecast: How to read this page"),
    )


_EVENTS = _WORDS["events"]
_ROOMS = (
    "Town hall|Library|St Anne's|Old brewery|Sports hall|Museum barn|Riverside stage|School hall"
).split("|")


def calendar(dice: Random) -> list[Content]:
    """A town's calendar, a month a page."""
    months = [_month_and_year(number) for number in range(48)]
    return [Content(f"Events in {month} {year}", _month(month, dice)) for month, year in months]


def _month(month: str, dice: Random) -> str:
    rows = [
        [f"{day} {month}", _clock(dice.randint(36, 82) * 15), event, dice.choice(_ROOMS)]
        for day, event in zip(
            sorted(dice.sample(range(1, 29), 9)), dice.sample(_EVENTS, 9), strict=True
        )
    ]
    return joined(paragraphs(*_WORDS["month"]), table(("Date", "Time", "Event", "Place"), rows))


_CURRENCIES = _WORDS["currencies"]


def exchange_rates(dice: Random) -> list[Content]:
    """Rates of a day; the pages differ in dates and numbers alone."""
    first = date(2026, 1, 5)
    days = [first + timedelta(days=number) for number in range(70)]
    base = {currency: 10 ** dice.uniform(-0.1, 2.2) for currency in _CURRENCIES}
    found = []
    for day in [day for day in days if day.weekday() < 5]:
        base = {name: rate * dice.uniform(0.99, 1.01) for name, rate in base.items()}
        rows = [[name, f"{rate:.4f}", f"{rate * 1.012:.4f}"] for name, rate in base.items()]
        name = f"Rates of {day.day} {MONTHS[day.month - 1]} {day.year}"
        found.append(Content(name, _rates(rows)))
    return found


def _rates(rows: list[list[str]]) -> str:
    return joined(
        paragraphs(*_WORDS["rates"]),
        table(("Currency", "Buying", "Selling"), rows),
        paragraphs(*_WORDS["rates 2"]),
    )


_TRAINS = "Express|Regional|Night train|Local|Rail replacement bus|Intercity".split("|")


def departures(dice: Random) -> list[Content]:
    """Departure boards; neither title nor h1 says which station they are of."""
    return [Content(town, _board(town, dice)) for town in dice.sample(TOWNS, 48)]


def _board(town: str, dice: Random) -> str:
    at = dice.randint(5 * 60, 20 * 60)
    rows = []
    for _ in range(10):
        at += dice.randint(2, 19)
        kind = dice.choice(_TRAINS)
        number = f"{kind} {dice.randint(10, 9900)}"
        delay = dice.choice(("on time", "on time", f"{dice.randint(3, 45)} min late", "cancelled"))
        rows.append([_clock(at), number, dice.choice(TOWNS), str(dice.randint(1, 12)), delay])
    return joined(
        facts([("Station", town)]),
        table(("Time", "Train", "To", "Platform", "Remarks"), rows),
        paragraphs(*_WORDS["board"]),
    )


def duty_pharmacies(dice: Random) -> list[Content]:
    """German pages: which pharmacies are open at night in a town."""
    towns = [f"{first}{last}" for first in _GERMAN_FIRST for last in _GERMAN_LAST]
    names = [f"Apotheken-Notdienst in {town}" for town in dice.sample(towns, 45)]
    return [Content(name, _duties(dice)) for name in names]


_GERMAN_FIRST = "Alten Birken Dachs Eichen Falken Hohen Klein Linden Mühl Neuen Ober Ried".split()
_GERMAN_LAST = "berg dorf feld hausen kirchen rode stein tal".split()
_PHARMACIES = _WORDS["pharmacies"]
_GERMAN_STREETS = (
    "Hauptstraße|Bahnhofstraße|Gartenweg|Kirchplatz|Marktstraße|Am Mühlbach|Schulgasse|Ringstraße"
).split("|")


def _duties(dice: Random) -> str:
    rows = [
        [
            f"{day}.11.2026",
            dice.choice(_PHARMACIES),
            f"{dice.choice(_GERMAN_STREETS)} {dice.randint(1, 120)}",
            f"0{dice.randint(2000, 9999)} {dice.randint(10000, 99999)}",
        ]
        for day in range(23, 30)
    ]
    return joined(
        paragraphs(*_WORDS["duties"]),
        table(("Tag", "Apotheke", "Anschrift", "Telefon"), rows),
        paragraphs(*_WORDS["duties 2"]),
    )


def store_locations(dice: Random) -> list[Content]:
    """Branches of a chain: address, hours, and what all of them offer."""
    return [Content(f"Our shop in {town}", _branch(dice)) for town in dice.sample(TOWNS, 45)]


def _branch(dice: Random) -> str:
    opens, closes = dice.choice((7, 8, 9)), dice.choice((18, 19, 20, 21))
    hours = [
        (
            day,
            "closed" if day == "Sunday" else f"{opens:02}:00 to {closes - (day == 'Saturday')}:00",
        )
        for day in DAYS
    ]
    address = f"{dice.randint(1, 180)} {dice.choice(STREETS)}"
    offered = ["Key cutting", "Paint mixing", "Tool hire", "Timber cut to size", "Garden centre"]
    return joined(
        paragraphs(f"{address}, telephone 0{dice.randint(1000, 1999)} {dice.randint(1000, 9999)}"),
        section("Opening hours", table((), hours)),
        section("In this shop", items(dice.sample(offered, 3))),
        told(_WORDS, "branch: Good to know"),
    )
