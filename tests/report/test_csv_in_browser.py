"""CSV holds what is shown, and nothing that a spreadsheet would run."""

import csv
import io

import pytest

from tests.report.samples import MAX_DISTANCE, columns, head, small_report
from tests.report.test_regrouping_in_browser import downloaded

pytestmark = pytest.mark.thorough


def test_csv_of_what_is_filtered_and_sorted(opened):
    report = small_report()
    watched = opened(report)
    watched.page.locator("#search").fill("syndicate")
    watched.page.locator("[data-sorts=distance] button").click()
    name, rows = downloaded(watched, "#csv-clusters")
    assert name == f"near-duplicates-clusters-k{MAX_DISTANCE}.csv"
    shown = watched.rows()
    assert [row["representative"] for row in rows] == [row[0].split("\n")[0] for row in shown]
    assert [row["near_duplicates"] for row in rows] == [row[1] for row in shown]
    first = rows[0]
    assert int(first["smallest_distance"]) <= int(first["largest_distance"])
    assert first["first_seen"].endswith("Z")
    name, members = downloaded(watched, "#csv-pages")
    assert name == f"near-duplicates-pages-k{MAX_DISTANCE}.csv"
    assert len(members) == sum(int(row["near_duplicates"]) + 1 for row in rows)
    similarity = dict(zip(report["pages"]["key"], report["pages"]["similarity"], strict=True))
    for row in members:
        expected = 100 if row["url"] == row["representative"] else similarity[row["url"]]
        assert row["similarity_percent"] == ("" if expected < 0 else str(expected))
    known = [
        int(row["similarity_percent"])
        for row in members
        if row["cluster"] == "1"
        and row["url"] != row["representative"]
        and row["similarity_percent"]
    ]
    assert first["smallest_similarity_percent"] == str(min(known, default=""))
    assert [row["url"] for row in members if row["url"] == row["representative"]] == [
        row["representative"] for row in rows
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_parts_cells(opened, delimiter):
    keys = [
        "https://a.example/;=1+1",
        'https://a.example/2;=HYPERLINK("http://b.example")',
        'https://a.example/3;"=1+1";"=1+1"',
        "https://a.example/4\t@SUM(1)\t -1",
        "https://a.example/5; \t+1",
        "https://a.example/6\r\n=1+1",
        'https://a.example/7;"',
        '";=1',
        "https://a.example/8;\u200b\x00=1",
        "https://a.example/9;jsessionid=1?b=-1&c=@",
        "https://a.example/10\ttab",
    ]
    pages = [(key, 0, number + 1, 0, -1) for number, key in enumerate(keys)]
    watched = opened(head(columns(pages, [0] * len(keys), [])))
    for button in ("#csv-pages", "#csv-clusters"):
        with watched.page.expect_download() as download:
            watched.page.locator(button).click()
        text = download.value.path().read_bytes().decode("utf-8-sig")
        cells = [
            cell
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            for cell in row
        ]
        assert len(cells) >= 2
        assert not [cell for cell in cells if cell.lstrip(' \t\r\n"\0\u200b')[:1] in tuple("=+-@")]
    _, rows = downloaded(watched, "#csv-pages")
    urls = [row["url"] for row in rows]
    # What is in most URLs stays as it is.
    assert {keys[6], keys[9], keys[10]} <= set(urls)
    assert "https://a.example/;'=1+1" in urls
