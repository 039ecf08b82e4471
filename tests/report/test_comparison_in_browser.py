"""Two pages side by side: what is marked is what differs, whichever pages, however long."""

import copy
import difflib
import random
import re
from importlib.resources import files
from itertools import pairwise

import pytest

from tests.report.samples import (
    BITS,
    article,
    bits_set,
    columns,
    compressed,
    flipped,
    head,
    small_report,
)
from tests.report.test_regrouping_in_browser import fingerprints_of

LEFT = "The keeper writes down wind and rain.\nShips pass by the hour.\nThe lamp is lit at dusk."
RIGHT = "The keeper writes down wind and hail.\nThe lamp is lit at dusk, without fail."
CHINESE = ("港口今天刮起大风，渡轮停航。", "港口今天刮起小风，渡轮停航。")


def of_texts(*texts, title="Log"):
    chance = random.Random(1)
    first = chance.getrandbits(BITS)
    pages = [
        (f"https://a.example/{n}", flipped(first, n, chance), n + 1, 0, n)
        for n in range(len(texts))
    ]
    kept = [compressed(f"{title} {n}", text) for n, text in enumerate(texts)]
    return head(columns(pages, [0] * len(pages), kept))


def compared(watched, number=0):
    page = watched.page
    page.locator("button.open").first.click()
    page.locator("#member-order").select_option("met")
    page.locator("button.compare").nth(number).click()
    return settled(watched)


def settled(watched):
    watched.page.wait_for_function(
        "() => document.getElementById('compared').textContent.includes('istance')"
    )
    return watched.page.locator("#compared").inner_text()


def marked(watched, tag):
    # Also what is out of sight, and not laid out.
    return watched.page.locator(f"#texts-compared {tag}").all_text_contents()


def sides(watched):
    return [
        "".join(
            watched.page.locator(f"#texts-compared .pair > p:nth-child({n})").all_text_contents()
        )
        for n in (1, 2)
    ]


def test_a_near_duplicate_beside_its_representative(opened):
    watched = opened(of_texts(LEFT, RIGHT))
    said = compared(watched)
    assert said.startswith("Distance 1, similarity 99.6")
    assert marked(watched, "del") == ["rain", "Ships pass by the hour."]
    assert marked(watched, "ins") == ["hail", ", without fail"]
    assert "14 words in both; 7 only left, 4 only right" in said
    assert watched.page.locator("#title-left").inner_text() == "Log 0"
    assert watched.page.locator("#name-right a").get_attribute("href") == "https://a.example/1"
    # What both have stands at the same height.
    pairs = watched.page.locator(".pair")
    tops = pairs.last.locator("p").evaluate_all(
        "sides => sides.map(side => side.getBoundingClientRect().top)"
    )
    assert tops[0] == tops[1]
    watched.quiet()


def test_scripts_without_spaces_are_compared_letter_by_letter(opened):
    watched = opened(of_texts(*CHINESE))
    compared(watched)
    assert marked(watched, "del") == ["大"]
    assert marked(watched, "ins") == ["小"]


def test_equal_texts_are_said_to_be_equal(opened):
    watched = opened(of_texts(LEFT, LEFT))
    assert "The texts are equal" in compared(watched)
    assert marked(watched, "del") == marked(watched, "ins") == []
    assert watched.page.locator("#difference-after").is_disabled()


def test_any_two_pages_of_a_cluster(opened):
    report = small_report()
    watched = opened(report)
    compared(watched, 4)
    page = watched.page
    prints = dict(zip(report["pages"]["key"], fingerprints_of(report), strict=True))
    seen = set()
    for left, right in ((2, 5), (7, 0), (0, 7), (3, 3)):
        page.locator("#choose-left").select_option(str(left))
        page.locator("#choose-right").select_option(str(right))
        names = page.locator("#name-left a, #name-right a").evaluate_all(
            "links => links.map(link => link.getAttribute('href'))"
        )
        apart = bits_set(prints[names[0]] ^ prints[names[1]])
        page.wait_for_function(
            "apart => document.getElementById('compared').textContent.startsWith(`Distance ${apart},`)",
            arg=apart,
        )
        seen.add(tuple(names))
    assert len(seen) == 4
    page.locator("#after-right").click()
    assert page.locator("#choose-right").input_value() == "4"
    page.locator("#swap").click()
    assert page.locator("#choose-right").input_value() == "3"
    assert page.locator("#choose-left").input_value() == "4"


def test_only_what_differs_and_from_one_difference_to_the_next(opened):
    chance = random.Random(2)
    long = article(chance, 200)
    words = long.split(" ")
    for place in (30, 900, 1800):
        words[place] = f"changed{place}"
    watched = opened(of_texts(long, " ".join(words)))
    compared(watched)
    page = watched.page
    assert marked(watched, "ins") == ["changed30", "changed900", "changed1800"]
    assert page.locator(".pair.equal").first.is_visible()
    page.locator("#only").check()
    assert page.locator(".pair:not(.equal)").count() == 3
    assert not page.locator(".pair.equal").first.is_visible()
    page.locator("#only").uncheck()
    for number in (1, 2, 3, 1):
        page.locator("#difference-after").click()
        assert page.locator("#at-difference").inner_text() == f"{number} of 3"
        assert page.locator("ins.current").inner_text() == marked(watched, "ins")[number - 1]
        shown = page.locator("ins.current").bounding_box()
        around = page.locator("#texts-compared").bounding_box()
        assert around["y"] <= shown["y"] <= around["y"] + around["height"]
    page.locator("#difference-before").click()
    assert page.locator("#at-difference").inner_text() == "3 of 3"


def test_it_is_a_dialog_that_escape_closes_and_focus_goes_back(opened):
    watched = opened(of_texts(LEFT, RIGHT))
    page = watched.page
    page.locator("button.open").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settled(watched)
    assert page.get_by_role("dialog", name="Two pages side by side").is_visible()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")
    assert not page.locator("#comparison").is_visible()
    assert page.evaluate("document.activeElement.className") == "compare"


@pytest.mark.parametrize("without", [(0, 1), (1,), (0,)])
def test_texts_that_were_not_kept(opened, without):
    report = of_texts(LEFT, RIGHT)
    for page in without:
        report["pages"]["text"][page] = -1
    watched = opened(report)
    said = compared(watched)
    assert "SIMHASH_KEEP_TEXT" in said
    assert "Distance 1" in said
    missing = watched.page.locator("#texts-compared").get_by_text("is not in the report")
    assert missing.count() == len(without)
    if 0 not in without:
        assert sides(watched)[0] == LEFT
    watched.quiet()


@pytest.mark.parametrize("broken", ["", "AAAA", "!!!!"])
def test_a_damaged_text_is_no_text(opened, broken):
    report = copy.deepcopy(of_texts(LEFT, RIGHT))
    report["texts"][1] = broken
    watched = opened(report)
    assert "SIMHASH_KEEP_TEXT" in compared(watched)


def test_long_texts_are_bounded_and_said_to_be(opened):
    chance = random.Random(4)
    one = " ".join(f"w{chance.randrange(9)}" for _ in range(70_000))
    other = " ".join(f"w{chance.randrange(9)}" for _ in range(70_000))
    watched = opened(of_texts(one, other))
    took_ms = watched.page.evaluate("() => performance.now()")
    said = compared(watched)
    assert watched.page.evaluate("() => performance.now()") - took_ms < 10_000
    assert "Only the first 60,000 words" in said


@pytest.fixture(scope="module")
def differences(browser):
    """The part of the script that compares texts, by itself."""
    context = browser.new_context()
    page = context.new_page()
    source = files("scrapy_simhash.report") / "assets" / "difference.js"
    page.evaluate(
        f"""() => {{ {source.read_text(encoding="utf-8")}
          window.runsBetween = (one, other) => {{
            const left = wordsOf(one), right = wordsOf(other), {{ partner }} = aligned(left, right);
            return {{ left, right, partner: [...partner], runs: runsOf(left, right, partner) }};
          }};
        }}"""
    )

    def compare(one, other):
        return page.evaluate("([one, other]) => runsBetween(one, other)", [one, other])

    yield compare
    context.close()


def words(text):
    return re.findall(r"\w+|[^\w\s]", text)


@pytest.mark.parametrize("seed", range(60))
def test_differences_are_right_and_few(differences, seed):
    chance = random.Random(seed)
    letters = "abcdef" if seed % 2 else "ab"
    one = " ".join(chance.choice(letters) for _ in range(chance.randrange(0, 60)))
    other = " ".join(chance.choice(letters) for _ in range(chance.randrange(0, 60)))
    found = differences(one, other)
    assert ("".join(found["left"]), "".join(found["right"])) == (one, other)
    pairs = [(at, of) for at, of in enumerate(found["partner"]) if of >= 0]
    assert pairs == sorted(pairs)
    assert [of for _, of in pairs] == sorted({of for _, of in pairs})
    assert all(words(one)[at] == words(other)[of] for at, of in pairs)
    # The longest common subsequence, which is what fewest edits leave.
    assert len(pairs) == longest_common(words(one), words(other))
    check_runs(found)


def longest_common(one, other):
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for at, against in enumerate(other, start=1):
            before, row[at] = row[at], before + 1 if word == against else max(row[at], row[at - 1])
    return row[-1]


def check_runs(found):
    """They follow one another to the end of both texts, and equal ones are equal."""
    at = other = 0
    for run in found["runs"]:
        assert (run["from"], run["otherFrom"]) == (at, other)
        at, other = run["to"], run["otherTo"]
        if run["same"]:
            left = [word.strip() for word in found["left"][run["from"] : at]]
            assert left == [word.strip() for word in found["right"][run["otherFrom"] : other]]
    assert (at, other) == (len(found["left"]), len(found["right"]))
    kinds = [run["same"] for run in found["runs"]]
    assert all(kind != after for kind, after in pairwise(kinds))


def test_texts_that_differ_too_much_for_fewest_edits_still_find_what_they_share(differences):
    chance = random.Random(9)
    shared = [f"shared{n}" for n in range(300)]
    one, other = list(shared), list(shared)
    for some, name in ((one, "left"), (other, "right")):
        for n in range(4000):
            some.insert(chance.randrange(len(some)), f"{name}{n}")
    found = differences(" ".join(one), " ".join(other))
    assert sum(of >= 0 for of in found["partner"]) == 300
    check_runs(found)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    assert sum(block.size for block in matcher.get_matching_blocks()) <= 300
