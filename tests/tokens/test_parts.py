import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.tokens.parts import select_parts, sentences

TEXT = """\
The ferry left at six. It was late! Nobody minded.

One line without a mark at its end
渡轮六点离开。旅客很多！谁也不着急。
"""


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("渡轮六点离开。旅客很多！真的？是。", ["渡轮六点离开。", "旅客很多！", "真的？", "是。"]),
        ("Version 3.14 of www.example.com is here.", ["Version 3.14 of www.example.com is here."]),
        ("यह पहला है। यह दूसरा।", ["यह पहला है।", "यह दूसरा।"]),
        ("Wait... what?!  Yes.", ["Wait...", "what?!", "Yes."]),
        ("no mark", ["no mark"]),
        (" \t", []),
        ("", []),
    ],
)
def test_sentences_end_at_marks(paragraph, expected):
    assert sentences(paragraph) == expected


@given(st.text(st.characters()))
def test_sentences_lose_only_white_space(paragraph):
    def letters(text):
        return "".join(text.split())

    assert letters("".join(sentences(paragraph))) == letters(paragraph)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("title", "A title"),
        ("first-sentences", "The ferry left at six.|{line}|渡轮六点离开。"),
        ("last-sentences", "Nobody minded.|{line}|谁也不着急。"),
        (
            "longest-sentences",
            "{line}|The ferry left at six.|Nobody minded.|It was late!|渡轮六点离开。",
        ),
        ("last-sentences title", "Nobody minded.|{line}|谁也不着急。|A title"),
    ],
)
def test_parts_are_in_the_given_order(parts, expected):
    expected = expected.format(line="One line without a mark at its end")
    assert select_parts(TEXT, parts.split(), "A title") == expected.replace("|", "\n")
