"""What two texts have in common: fewest edits."""

import random
import re
from importlib.resources import files
from itertools import pairwise

import pytest


@pytest.fixture(scope="module")
def differences(browser):
    """The part of the script that compares texts, by itself."""
    context = browser.new_context()
    page = context.new_page()
    assets = files("scrapy_simhash.report") / "assets"
    source = "".join(
        (assets / name).read_text(encoding="utf-8")
        for name in ("difference.js", "runs.js", "rows.js")
    )
    page.evaluate(
        f"""() => {{ {source}
          window.runsBetween = (one, other) => {{
            const left = wordsOf(one), right = wordsOf(other);
            const {{ partner }} = aligned(left, right, {{ stepsLeft: MAX_WORK }});
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


@pytest.mark.parametrize("seed", range(12))
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
    assert all(run["same"] != after["same"] for run, after in pairwise(found["runs"]))
