"""Two pages side by side: what is marked is what differs, whichever pages, however long."""

import random

import pytest

from scrapy_simhash.resemblance import resemblance
from tests.report.browser import PIXEL
from tests.report.samples import BITS, article, flipped, reported, small_report

pytestmark = pytest.mark.thorough

LEFT = "The keeper writes down wind and rain.\nShips pass by the hour.\nThe lamp is lit at dusk."
RIGHT = "The keeper writes down wind and hail.\nThe lamp is lit at dusk, without fail."
CHINESE = ("港口今天刮起大风，渡轮停航。", "港口今天刮起小风，渡轮停航。")


def of_texts(*texts, title="Log"):
    chance = random.Random(1)
    first = chance.getrandbits(BITS)
    return reported(
        (n, f"https://a.example/{n}", flipped(first, n, chance), f"{title} {n}", text)
        for n, text in enumerate(texts)
    )


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
    assert said.startswith(f"Distance 1. Similarity {percent(LEFT, RIGHT)}\N{NO-BREAK SPACE}%.")
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
    watched.assert_quiet()


@pytest.mark.parametrize(
    "texts",
    [
        (LEFT, LEFT),
        CHINESE,
        ("", "one two"),
        ("One, two. Three four FIVE\nsix", "one two three four five seven"),
        (
            "Straße № 5 ﬁne x_y naïve 한국어 — ١٢٣ हिन्दी",
            "STRASSE No 5 fine x y naïve 한국어 123 हिन्दी",
        ),
        ("山坡上的茶园天还没亮就热闹起来 2026", "山坡上的茶园天还没亮就安静下来 2026"),
    ],
)
def test_similarity_of_two_pages_is_that_of_the_package(opened, texts):
    said = compared(opened(of_texts(*texts)))
    assert f"Similarity {percent(*texts)}\N{NO-BREAK SPACE}%." in said


def percent(left, right):
    return int(100 * resemblance(left, right) + 1e-9)


def test_any_two_pages_of_a_cluster(opened):
    report = small_report()
    watched = opened(report)
    compared(watched, 4)
    page = watched.page
    apart = dict(zip(report["pages"]["key"], report["pages"]["distance"], strict=True))
    seen = set()
    for left, right in ((2, 5), (7, 0), (0, 7), (3, 3)):
        page.locator("#choose-left").select_option(str(left))
        page.locator("#choose-right").select_option(str(right))
        names = page.locator("#name-left a, #name-right a").evaluate_all(
            "links => links.map(link => link.getAttribute('href'))"
        )
        # A crawl has compared each page with its representative alone.
        near = names[0] if right == 0 else names[1]
        page.wait_for_function(
            "start => document.getElementById('compared').textContent.startsWith(start)",
            arg="Similarity" if left and right else f"Distance {apart[near]}.",
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
        assert around["y"] - PIXEL <= shown["y"] <= around["y"] + around["height"]
    page.locator("#difference-before").click()
    assert page.locator("#at-difference").inner_text() == "3 of 3"


@pytest.mark.parametrize("without", [(0, 1), (1,), (0,)])
def test_texts_that_were_not_kept(opened, without):
    watched = opened(
        of_texts(*(None if n in without else text for n, text in enumerate((LEFT, RIGHT))))
    )
    said = compared(watched)
    assert "SIMHASH_KEEP_TEXT" in said
    assert "Distance 1" in said
    missing = watched.page.locator("#texts-compared").get_by_text("is not in the report")
    assert missing.count() == len(without)
    if 0 not in without:
        assert sides(watched)[0] == LEFT
    watched.assert_quiet()


def test_long_texts_are_bounded_and_said_to_be(opened):
    chance = random.Random(4)
    one = " ".join(f"w{chance.randrange(9)}" for _ in range(70_000))
    other = " ".join(f"w{chance.randrange(9)}" for _ in range(70_000))
    watched = opened(of_texts(one, other))
    took_ms = watched.page.evaluate("() => performance.now()")
    said = compared(watched)
    assert watched.page.evaluate("() => performance.now()") - took_ms < 10_000
    assert "Only the first 60,000 words" in said


@pytest.mark.parametrize("seed", range(6))
def test_differences_are_right_and_few(opened, seed):
    chance = random.Random(seed)
    letters = "abcdef" if seed % 2 else "ab"
    one = chance.choices(letters, k=chance.randint(1, 60))
    other = [*one]
    for _ in range(8):  # edits of one word, which may be near each other
        at = chance.randint(0, len(other))
        other[at : at + chance.randint(0, 1)] = chance.choices(letters, k=chance.randint(0, 1))
    watched = opened(of_texts(" ".join(one), " ".join(other)))
    said = compared(watched)
    assert [text.replace("[…] ", "") for text in sides(watched)] == [" ".join(one), " ".join(other)]
    # The longest common subsequence, which is what fewest edits leave.
    assert f" {longest_common(one, other)} words in both" in said


def longest_common(one, other):
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for at, against in enumerate(other, start=1):
            before, row[at] = row[at], before + 1 if word == against else max(row[at], row[at - 1])
    return row[-1]


# Texts made to freeze it: all is shown soon, or it is said what was not compared.
# Two seconds of a machine that does nothing else; the tests' own has more to do.
LONGEST_MS = 6000
LETTERS = 200_000
ACCENT = "\u0301"
CUT = "The comparison stopped early because it would take too long"


def shown(opened, left, right):
    """(the report, what it says, how long it takes to be painted)."""
    watched = opened(of_texts(left, right))
    watched.page.locator("button.open").first.click()
    took_ms = watched.page.evaluate(
        """async () => {
          const from = performance.now();
          document.querySelector("button.compare").click();
          while (!document.getElementById("compared").textContent) {
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
          return performance.now() - from;
        }"""
    )
    return watched, watched.page.locator("#compared").inner_text(), took_ms


def nested(levels):
    """Words that occur once in both only when those around them are split off."""
    texts = []
    for side, filler in (("L", "p"), ("R", "q")):
        words = [f"{side}{n}" for n in range(700)]
        for level in range(levels, 0, -1):
            words += [f"w{level}", filler]
            words += [f"w{level + 1}", filler] if level < levels else []
        texts.append(" ".join(words)[:LETTERS])
    return texts


def test_work_is_bounded_for_the_whole_and_what_is_left_is_shown_as_different(opened):
    left, right = nested(12_000)
    watched, said, took_ms = shown(opened, left, right)
    assert CUT in said
    assert took_ms < LONGEST_MS
    assert [text.replace("[…] ", "") for text in sides(watched)] == [left, right]
    # Of those that were found the first is at the end, where the splitting began.
    assert not said.startswith("0 words")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (f"a{ACCENT * 16}" * 11_700, f"b{ACCENT * 16}" * 11_700),
        ("\U0001f44b" + "\U0001f3fb" * 100_000, "\U0001f44b" + "\U0001f3fc" * 100_000),
        ("a\nb\n" * 50_000, "a\nc\n" * 50_000),
        ("x" * LETTERS, "y" * LETTERS),
    ],
    ids=["heaps of accents", "tones of skin", "every other line", "one word"],
)
def test_no_text_of_the_longest_kind_freezes_it(opened, left, right):
    watched, said, took_ms = shown(opened, left, right)
    assert took_ms < LONGEST_MS
    assert said.startswith("Distance 1")
    watched.assert_quiet()
