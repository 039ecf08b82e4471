"""The endless parts of the site: the calendar, and soft 404s (missing pages with status 200)."""

from __future__ import annotations

import re
from calendar import Calendar
from dataclasses import replace
from html import escape

from .catalog import HERE
from .frames import MOST_READ_EN, MOST_READ_ZH, Frames
from .model import MAIN, Page
from .render import link, number_for
from .text import read_text

FIRST_MONTH = (2026, 11)
CALENDAR_FAMILY = "calendar"
_CALENDAR_PATH = re.compile(r"/calendar/([1-9]\d{3})/(0[1-9]|1[0-2])")
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_EVENTS = (
    "Sale of work in the rope store, 14:00",
    "Swing bridge open all day",
    "Museum ship sails at high water",
)


def month_path(year: int, month: int) -> str:
    """Return the path of a month's page."""
    return f"/calendar/{year}/{month:02}"


def next_month(year: int, month: int) -> tuple[int, int]:
    """Return the (year, month) after a month."""
    return (year + 1, 1) if month == 12 else (year, month + 1)


def endless_page(frames: Frames, path: str) -> Page | None:
    """Return a calendar page or a soft 404; None if the server should answer 404."""
    match = _CALENDAR_PATH.fullmatch(path)
    if match:
        return calendar_page(frames, int(match[1]), int(match[2]))
    if path.startswith(("/news/", "/zh/news/")):
        return soft_404_page(frames, path)
    return None


def calendar_page(frames: Frames, year: int, month: int) -> Page:
    """Return the page of a month: the text of all months, and a grid with at most one event."""
    path, following = month_path(year, month), next_month(year, month)
    text = read_text(HERE / "pages" / "calendar.txt")
    name = f"{_MONTHS[month - 1]} {year}"
    event_day = 1 + number_for(path, 90)  # above 31 in about two of three months: no event
    event = _EVENTS[number_for(name, len(_EVENTS))]
    rows, words = [], [name]
    for week in Calendar().monthdayscalendar(year, month):
        cells = [
            (str(day) if day else "") + (f" {event}" if day == event_day else "") for day in week
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
        words += [cell for cell in cells if cell]
    extra = f"<h2>{name}</h2>\n<table class='month'>\n" + "\n".join(rows) + "\n</table>\n"
    extra += link(month_path(*following), f"{_MONTHS[following[1] - 1]} ›") + "\n"
    html = frames.plain(path, text, zh=False, extra=extra, kind="calendar")
    full = f"{text.plain}\n\n{' '.join(words)}"
    return Page(MAIN, path, html, full, "en", "calendar", CALENDAR_FAMILY)


def soft_404_page(frames: Frames, path: str) -> Page:
    """Return a soft 404: an apology, and links to articles that vary by URL."""
    zh = path.startswith("/zh/")
    text = read_text(HERE / "pages" / f"soft-404-{'zh' if zh else 'en'}.txt")
    names = sorted(MOST_READ_ZH if zh else MOST_READ_EN, key=lambda n: number_for(path + n, 2**32))
    suggested = [frames.articles[name] for name in names[: 1 if zh else 2]]
    titles = tuple(article.text.title for article in suggested)
    extra = "<p>" + "<br>\n".join(link(a.path, a.text.title) for a in suggested) + "</p>\n"
    html = frames.plain(path, text, zh=zh, extra=extra, kind="missing")
    full = replace(text, paragraphs=text.paragraphs + titles).plain
    return Page(
        MAIN,
        path,
        html,
        full,
        "zh-Hans" if zh else "en",
        "soft-404",
        "soft-404-zh" if zh else "soft-404-en",
    )
