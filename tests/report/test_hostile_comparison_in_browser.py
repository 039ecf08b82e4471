"""Texts made to freeze the comparison: all is shown soon, or it is said what was not compared."""

import pytest

from tests.report.test_comparison_in_browser import of_texts, sides

pytestmark = pytest.mark.thorough

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
