"""Texts made to freeze the comparison: all is shown soon, or it is said what was not compared."""

import pytest

from tests.report.browser import HOSTILE
from tests.report.test_comparison_in_browser import marked, of_texts, sides

pytestmark = pytest.mark.thorough

# Two seconds of a machine that does nothing else; the tests' own has more to do.
LONGEST_MS = 6000
LETTERS = 200_000
ACCENT, MOST_ACCENTS = "\u0301", 16
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


def test_anchors_within_anchors_are_all_found_where_they_are_a_thousand(opened):
    _, said, took_ms = shown(opened, *nested(1000))
    assert said.endswith("1,999 words in both; 2,699 only left, 2,699 only right.")
    assert took_ms < LONGEST_MS


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
        (f"a{ACCENT * 100_000}", f"a{ACCENT * 100_000}b"),
        (f"a{ACCENT * 16}" * 11_700, f"b{ACCENT * 16}" * 11_700),
        ("\U0001f44b" + "\U0001f3fb" * 100_000, "\U0001f44b" + "\U0001f3fc" * 100_000),
        ("a\ufe0f" * 100_000, "b\ufe0f" * 100_000),
        ("\u0628" * LETTERS, "\u0628" * LETTERS + "b"),
        ("a\u05d0 " * 66_000, "b\u05d0 " * 66_000),
        ("a\n" * 100_000, "b\n" * 100_000),
        ("a\nb\n" * 50_000, "a\nc\n" * 50_000),
        ("a" + "\n" * LETTERS + "b", "a" + "\n" * LETTERS + "c"),
        ("\u202e" * LETTERS, "\u202d" * LETTERS),
        ("x" * LETTERS, "y" * LETTERS),
    ],
    ids=[
        "accents", "heaps of accents", "tones of skin", "variants", "one arabic word",
        "two directions", "lines", "every other line", "empty lines", "controls", "one word",
    ],
)  # fmt: skip
def test_no_text_of_the_longest_kind_freezes_it(opened, left, right):
    watched, said, took_ms = shown(opened, left, right)
    assert took_ms < LONGEST_MS
    assert said.startswith("Distance 1")
    watched.assert_quiet()


def line_of(number, words=5, edited=""):
    return " ".join(f"w{number}x{word}" for word in range(words)) + edited


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([line_of(n) for n in range(11_000)], [line_of(n) for n in reversed(range(11_000))]),
        (
            [line_of(n, 12, " left") for n in range(4_500)],
            [line_of(n, 12, " right") for n in reversed(range(4_500))],
        ),
        (
            [line_of(n) for n in range(11_000)],
            [" ".join(line_of(n) for n in range(11_000))],
        ),
        (
            [line_of(n % 10, 40, f" {n}") for n in range(1_400)],
            [line_of(n % 10, 40, f" {n}") for n in reversed(range(1_400))],
        ),
    ],
    ids=["moved", "moved and edited", "all in one line", "all alike"],
)
def test_thousands_of_moved_paragraphs_do_not_freeze_it(opened, left, right):
    left, right = "\n".join(left), "\n".join(right)
    watched, _, took_ms = shown(opened, left, right)
    assert took_ms < LONGEST_MS
    assert [text.replace("[…] ", "") for text in sides(watched)] == [left, right]
    watched.assert_quiet()


def test_accents_after_the_sixteenth_are_escapes_and_are_compared(opened):
    watched, said, _ = shown(opened, f"so a{ACCENT * 20} it is", f"so a{ACCENT * 19}\u0302 it is")
    kept = f"a{ACCENT * MOST_ACCENTS}"
    escape = "\\u0301"
    assert sides(watched)[0] == f"so {kept}{escape * 4} it is"
    assert sides(watched)[1] == f"so {kept}{escape * 3}\\u0302 it is"
    assert marked(watched, "del") == ["u0301"]
    assert marked(watched, "ins") == ["u0302"]
    # As many as any language has.
    watched, said, _ = shown(opened, f"a{ACCENT * 16}", f"a{ACCENT * 16}")
    assert sides(watched)[0] == kept
    assert "equal" in said


@pytest.mark.parametrize("line", ["word ", "word\n", HOSTILE.replace("\x00", "") + "\n"])
def test_all_of_a_long_text_is_there(opened, line):
    left = line * (30_000 // len(line))
    right = f"{left}{'more ' * 500}"
    watched, _, _ = shown(opened, left, right)
    text = "".join(sides(watched)[1]).replace("[…] ", "")
    expected = right.replace("\u202e", "\\u202e").replace("\x07", "\\x07")
    assert text == expected
    assert " ".join(marked(watched, "ins")).split() == ["more"] * 500


def test_one_long_text_alone(opened):
    report = of_texts("word " * 30_000, "")
    report["pages"]["text"][1] = -1
    watched = opened(report)
    watched.page.locator("button.open").first.click()
    watched.page.locator("button.compare").first.click()
    watched.page.wait_for_function("() => document.getElementById('compared').textContent")
    assert sides(watched)[0] == "word " * 30_000
    assert "is not in the report" in sides(watched)[1]


def test_marks_in_a_row_are_not_sorted_for_seconds(opened):
    marks = "a" + "\u0315\u0316" * (LETTERS // 3)
    _, said, took_ms = shown(opened, f"one two {marks}", f"one three {marks}")
    assert "%" in said or "in both" in said
    assert took_ms < LONGEST_MS
