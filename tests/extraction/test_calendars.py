"""Grids of the days of a month are chrome, tables of dates with other text are content."""

import pytest

from scrapy_simhash.extraction import extract
from tests.samples import PARAGRAPHS

WEEKDAYS = "<tr>" + "".join(f"<th>{day}" for day in "Mo Tu We Th Fr Sa Su".split())
HEAD = "<tr><th><a href=/m/4>April</a><th colspan=5>May 2031<th><a href=/m/6>June</a>" + WEEKDAYS


def month(cell, before=HEAD, days=range(1, 32)):
    """Return a table of the days, in rows of seven."""
    cells = "".join("<tr>" * (day % 7 == 1) + "<td>" + cell.format(day=day) for day in days)
    return f"<table>{before}{cells}</table>"


def page(table):
    return f"<h1>Meetings</h1><p>{PARAGRAPHS[0]}</p>{table}<p>{PARAGRAPHS[1]}</p>"


@pytest.mark.parametrize(
    "grid",
    [
        month("{day}"),
        month(" {day:02}\n", WEEKDAYS),
        month("<a href='/day/{day}'>{day}</a>"),
        month("{day}", before="<tr><td>30<td>31", days=range(1, 29)),
        month("{day}", before="<caption>February 2031</caption>", days=range(1, 29)),
        "<table>" + "".join(f"<tr><td>{month('{day}')}" for _ in (1, 2)) + "</table>",
    ],
)
def test_a_grid_of_days_is_chrome(grid):
    extraction = extract(page(grid), "segments")
    assert extraction.text == extract(page(""), "segments").text
    assert "day" not in extraction.targets


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (month("{day} Council of elders"), "30 Council of elders"),
        (month("{day}<td>May<td>Hill v. Dale"), "30 May Hill v. Dale"),
        (month("{day}", before=f"<tr><td>{PARAGRAPHS[2]}"), PARAGRAPHS[2]),
        (month("{day}", before="", days=range(1, 21)), "19 20"),
        (month("{day}", before="", days=range(1, 80)), "78 79"),
        (month("{day}", before="", days=range(31, 0, -1)), "2 1"),
    ],
)
def test_other_tables_are_content(table, words):
    assert words in " ".join(extract(page(table), "segments").text.split())
