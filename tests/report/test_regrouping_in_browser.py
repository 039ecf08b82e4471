"""The slider regroups as Python's leader clustering does, and says how far it is."""

import copy
import csv
import io
import random
import re
from base64 import b64decode, b64encode
from itertools import pairwise

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

# Longer, and a person notices that the page does not answer. A task of the script is 12 ms; what
# else the machine does is added.
LONGEST_TASK_MS = 200


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
    apart = next(page for page, of in enumerate(pages["representative"]) if of != page)
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


def test_the_histogram_has_the_figures_in_a_table_too(opened):
    report, watched = small_report(), opened(small_report())
    page = watched.page

    def table(column):
        cells = page.locator(f"#distance-table tbody tr > :nth-child({column})")
        return [int(text.replace(",", "")) for text in cells.all_text_contents()]

    assert table(2) == table(3) == report["distances"]
    heights = page.locator("#histogram rect.near").evaluate_all(
        "bars => bars.map(bar => bar.getBoundingClientRect().height)"
    )
    assert [height > 0 for height in heights] == [count > 0 for count in report["distances"]]
    highest = max(range(len(heights)), key=heights.__getitem__)
    assert report["distances"][highest] == max(report["distances"])
    watched.regroup(10)
    assert table(2) == report["distances"]
    distances = [0] * (MAX_DISTANCE + 1)
    for representative, (of, apart) in by_oracle(numbered(report), 10).items():
        distances[apart] += representative != of
    assert table(3) == distances


def test_without_fingerprints_there_is_no_slider(opened):
    report = {**small_report(), "fingerprints": ""}
    watched = opened(report)
    assert watched.page.locator("#k").is_disabled()
    assert "k cannot be changed" in watched.page.locator("#regrouped").inner_text()
    assert len(watched.rows()) > 10
    watched.assert_quiet()


def all_differ(count, apart):
    """One cluster of pages of different fingerprints."""
    chance = random.Random(3)
    first = chance.getrandbits(BITS)
    pages = [
        (f"https://a.example/{n}", flipped(first, apart, chance), n + 1, 0, -1)
        for n in range(count)
    ]
    listed = columns(pages[:1], [0], [])
    listed["pages"] = {
        "key": [page[0] for page in pages],
        "seen_at_s": [page[2] for page in pages],
        "similarity": [-1] * len(pages),
        "representative": [0] * len(pages),
        "distance": [0] + [apart] * (len(pages) - 1),
        "component": [0] * len(pages),
        "text": [-1] * len(pages),
    }
    listed["fingerprints"] = b64encode(
        b"".join(page[1].to_bytes(BITS // 8, "big") for page in pages)
    ).decode()
    return head(listed)


def test_a_large_component_does_not_block_and_gives_way(opened):
    watched = opened(
        all_differ(12_000, apart=18),
        before="""window.longest = 0;
        new PerformanceObserver((list) => {
          for (const task of list.getEntries()) longest = Math.max(longest, task.duration);
        }).observe({ type: "longtask" });""",
    )
    page = watched.page
    page.evaluate("longest = 0")
    # All differ: twelve thousand representatives, 72 million comparisons.
    page.locator("#k").fill("5")
    page.locator("#k").fill("4")
    # Another k is answered without waiting for those, and they are not shown when they are done.
    watched.regroup(MAX_DISTANCE)
    assert "with 11,999" in page.locator("#regrouped").inner_text()
    watched.regroup(5)
    assert page.locator("#regrouped").inner_text().startswith("0 clusters")
    assert page.evaluate("longest") < LONGEST_TASK_MS


def test_a_long_wait_says_how_far_it_is(opened):
    watched = opened(all_differ(12_000, apart=18))
    page = watched.page
    page.evaluate(
        """() => {
          window.said = [];
          const status = document.getElementById("regrouped");
          const note = () => said.push([performance.now(), status.textContent]);
          new MutationObserver(note).observe(status, { childList: true });
        }"""
    )
    # All differ: 72 million comparisons.
    page.locator("#k").fill("5")
    page.wait_for_function(
        "() => said.filter(([, text]) => text.startsWith('Grouping')).length > 0", timeout=60_000
    )
    page.locator("#k").fill("0")
    watched.regroup(0)
    said = page.evaluate("said")
    far = [(at_ms, text) for at_ms, text in said if text.startswith("Grouping")]
    assert far
    assert all(re.fullmatch(r"Grouping pages: \d{1,2}\s%\.", text) for _, text in far)
    assert all(later[0] - sooner[0] > 2500 for sooner, later in pairwise(far))
    # No comparison at all: fingerprints are equal or not.
    assert said[-1][1].startswith("0 clusters with 0 near-duplicates at this k;")


def test_short_waits_are_not_announced(opened):
    watched = opened(small_report())
    watched.page.evaluate(
        """() => {
          window.said = [];
          const status = document.getElementById("regrouped");
          new MutationObserver(() => said.push(status.textContent))
            .observe(status, { childList: true });
        }"""
    )
    watched.regroup(20)
    watched.regroup(0)
    said = watched.page.evaluate("said")
    assert len(said) == 2
    assert not [text for text in said if "Grouping" in text]
