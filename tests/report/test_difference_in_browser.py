"""What two texts have in common: fewest edits, and paragraphs that only stand elsewhere."""

import difflib
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
        for name in ("difference.js", "moved_paragraphs.js", "runs.js", "rows.js")
    )
    page.evaluate(
        f"""() => {{ {source}
          window.runsBetween = (one, other) => {{
            const left = wordsOf(one), right = wordsOf(other);
            const {{ partner, moved, edited }} = alignedWithMoved(left, right);
            return {{ left, right, partner: [...partner], moved: moved.map((of) => [...of]),
              edited: edited.map((of) => [...of]),
              runs: runsOf(left, right, partner, moved) }};
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
    kinds = [(run["same"], run["moved"]) for run in found["runs"]]
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


def heaviest_ascending(places, weights):
    """What of it weighs most, by trying each as the last."""
    best = []
    for at, place in enumerate(places):
        before = [best[one] for one in range(at) if places[one] < place]
        best.append(weights[at] + max(before, default=0))
    return max(best, default=0)


@pytest.mark.parametrize("seed", range(40))
def test_moved_paragraphs_are_as_few_words_as_can_be(differences, seed):
    chance = random.Random(seed)
    lines = [
        " ".join(f"w{number}x{word}" for word in range(chance.randrange(5, 30)))
        for number in range(chance.randrange(1, 12))
    ]
    others = lines.copy()
    if seed % 4 == 0:
        chance.shuffle(others)
    else:
        for _ in range(seed % 4):
            others.insert(chance.randrange(len(others)), others.pop(chance.randrange(len(others))))
    found = differences("\n".join(lines), "\n".join(others))
    check_runs(found)
    # Each on its own side, once; all others are aligned.
    for side, words_of, bounds in (
        (0, "left", ("from", "to")),
        (1, "right", ("otherFrom", "otherTo")),
    ):
        moved = {number for number in found["moved"][side] if number >= 0}
        runs = {
            run["moved"]: run
            for run in found["runs"]
            if run["moved"] >= 0 and run[bounds[0]] < run[bounds[1]]
        }
        assert set(runs) == moved
        for run in runs.values():
            text = "".join(found[words_of][run[bounds[0]] : run[bounds[1]]]).strip()
            assert text in lines
    assert sorted(n for n in found["moved"][0] if n >= 0) == sorted(
        n for n in found["moved"][1] if n >= 0
    )
    staying = sum(number < 0 for number in found["moved"][0])
    places = [others.index(line) for line in lines]
    assert staying == heaviest_ascending(places, [len(line.split()) for line in lines])
    assert sum(of >= 0 for of in found["partner"]) == staying


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b c d\ne f g h", "e f g h\na b c d"),
        ("twice is not once more\nx\ntwice is not once more", "x\ntwice is not once more"),
        ("", "a b c d e"),
        ("a b c d e", ""),
        ("", ""),
    ],
)
def test_short_and_repeated_paragraphs_are_never_moved(differences, one, other):
    found = differences(one, other)
    assert {number for side in found["moved"] for number in side} <= {-1}
    check_runs(found)


def test_a_moved_paragraph_that_was_edited_has_its_edits_marked(differences):
    lines = [" ".join(f"w{number}x{word}" for word in range(30)) for number in range(4)]
    moved = lines[0].replace("w0x7 ", "other words ").replace(" w0x20", "")
    found = differences("\n".join(lines), "\n".join([*lines[1:], moved]))
    check_runs(found)
    assert [number for number in found["moved"][0] if number >= 0] == [0] * 30
    assert [number for number in found["moved"][1] if number >= 0] == [0] * 30
    edited = [
        [word.strip() for word, is_edited in zip(found[side], flags, strict=True) if is_edited]
        for side, flags in zip(("left", "right"), found["edited"], strict=True)
    ]
    assert edited == [["w0x7", "w0x20"], ["other", "words"]]


def test_paragraphs_that_have_less_than_half_in_common_are_no_twins(differences):
    lines = [" ".join(f"w{number}x{word}" for word in range(30)) for number in range(3)]
    half = " ".join([*lines[0].split()[:12], *(f"new{word}" for word in range(18))])
    found = differences("\n".join(lines), "\n".join([*lines[1:], half]))
    assert {number for side in found["moved"] for number in side} == {-1}


def test_numbers_are_words_with_their_separators(differences):
    found = differences("seen 4,991 times. Cost 1.5, or 2", "seen 8,654 times. Cost 1.5, or 2")
    assert [word.strip() for word in found["left"]] == [
        "seen", "4,991", "times", ".", "Cost", "1.5", ",", "or", "2",
    ]  # fmt: skip
    assert found["partner"].count(-1) == 1
