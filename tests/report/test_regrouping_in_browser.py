"""The slider regroups as Python's leader clustering does, and says how far it is."""

import copy
import csv
import io
import random
from base64 import b64decode

import pytest

from tests.report.samples import (
    BITS,
    MAX_DISTANCE,
    columns,
    flipped,
    head,
    leader,
    small_report,
)

pytestmark = pytest.mark.thorough


def downloaded(watched, button):
    with watched.page.expect_download() as download:
        watched.page.locator(button).click()
    raw = download.value.path().read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    text = raw.decode("utf-8-sig")
    assert text.endswith("\r\n")
    return download.value.suggested_filename, list(csv.DictReader(io.StringIO(text, newline="")))


def by_download(watched):
    """{page: (representative, distance)} of all pages in clusters."""
    _, rows = downloaded(watched, "#csv-pages")
    assert len({row["url"] for row in rows}) == len(rows)
    return {row["url"]: (row["representative"], int(row["distance"])) for row in rows}


def fingerprints_of(report):
    raw, size = b64decode(report["fingerprints"]), report["index"]["bits"] // 8
    return [int.from_bytes(raw[at : at + size], "big") for at in range(0, len(raw), size)]


def by_oracle(report, k):
    pages = report["pages"]
    representative, distance = leader(fingerprints_of(report), pages["component"], k)
    having = {of for page, of in enumerate(representative) if of != page}
    return {
        pages["key"][page]: (pages["key"][of], distance[page])
        for page, of in enumerate(representative)
        if of in having
    }


def test_each_smaller_k_gives_what_python_finds(opened):
    # Names must differ, so that a CSV says which page is which.
    report = numbered(small_report())
    watched = opened(report)
    sizes = set()
    for k in (35, 30, 22, 17, 9, 4, 1, 0):
        watched.regroup(k)
        expected = by_oracle(report, k)
        assert by_download(watched) == expected
        clusters = {representative for representative, _ in expected.values()}
        said = watched.page.locator("#regrouped").inner_text()
        assert said.startswith(
            f"{len(clusters)} clusters with {len(expected) - len(clusters)} near-duplicates"
        )
        assert len(watched.rows()) == min(len(clusters), 100)
        sizes.add(len(clusters))
    assert len(sizes) > 5
    watched.assert_quiet()


def numbered(report):
    report = copy.deepcopy(report)
    keys = report["pages"]["key"]
    report["pages"]["key"] = [f"{key}#{number}" for number, key in enumerate(keys)]
    return report


def tangled(chance, bits=BITS, count=400):
    """One large component of few different distances, ties and equal fingerprints."""
    first = chance.getrandbits(bits)
    prints = [first]
    while len(prints) < count:
        prints.append(
            flipped(chance.choice(prints), chance.choice((0, 0, 1, 2, 3, 5)), chance, bits)
        )
    return [
        (f"https://a.example/{n}", fingerprint, n + 1, 0, -1)
        for n, fingerprint in enumerate(prints)
    ]


@pytest.mark.parametrize("bits", [8, 64, 72, 256])
def test_ties_equal_fingerprints_and_other_widths(opened, bits):
    pages = tangled(random.Random(bits), bits)
    listed = columns(pages, [7] * len(pages), [], bits=bits)
    report = head(listed)
    report["index"]["bits"] = bits
    watched = opened(report)
    for k in (12, 6, 3, 2, 1, 0):
        watched.regroup(k)
        assert by_download(watched) == by_oracle(report, k)


def test_the_largest_k_shows_what_the_crawls_found_themselves(opened):
    report = numbered(small_report())
    pages = report["pages"]
    # A crawl may have found something else than leader clustering would: scopes, canonical pages.
    representatives = pages["representative"]
    apart = next(
        page
        for page, of in enumerate(representatives)
        if representatives.count(of) > 2 and of != page
    )
    own, nearest = pages["key"][apart], pages["representative"][apart]
    pages["representative"][apart] = apart
    watched = opened(report)
    assert own not in by_download(watched)
    watched.regroup(MAX_DISTANCE - 1)
    assert by_download(watched)[own][0] == by_oracle(report, MAX_DISTANCE - 1)[own][0]
    watched.regroup(MAX_DISTANCE)
    assert own not in by_download(watched)
    assert pages["key"][nearest] in by_download(watched)
    assert "as the crawls found them" in watched.page.locator("#regrouped").inner_text()


def test_the_slider_moves_by_keys_and_goes_back(opened):
    watched = opened(small_report())
    page = watched.page
    before = watched.rows()
    page.locator("#k").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => document.getElementById('regrouped').textContent.includes('at this k')"
    )
    assert page.locator("#k-now").inner_text() == f"k = {MAX_DISTANCE - 2}"
    assert page.locator("#k").get_attribute("aria-valuetext") == f"k = {MAX_DISTANCE - 2}"
    assert watched.rows() != before
    page.keyboard.press("Home")
    page.wait_for_function(
        "() => document.getElementById('regrouped').textContent.includes('are equal')"
    )
    page.locator("#k-reset").click()
    assert watched.rows() == before
    assert page.locator("#k").input_value() == str(MAX_DISTANCE)
    assert page.locator("#k-reset").is_disabled()
