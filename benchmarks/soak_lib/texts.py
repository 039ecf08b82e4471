"""Generated texts, and small edits of them: paragraphs of sentences of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from soak_lib.words import drawn, drawn_topic, vocabulary

if TYPE_CHECKING:
    import random

    from soak_lib.words import Topic

_SHORTEST, _LONGEST = 150, 600
_CHANGED_SHARE = 0.03
_NAMES = 12
# Of a page's words: function words, those of its topic, any word, names of its own; summed up.
_SHARES = (0.42, 0.78, 0.92, 1.0)
_AT_ONCE = 200
_SURNAMES = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜"
_GIVEN = "伟芳娜敏静丽强磊洋艳勇军杰娟涛明超霞平刚桂文辉力玲建国红海云山峰"

Sentence = list[str]
Paragraph = list[Sentence]


class Text(NamedTuple):
    """The text of a page."""

    title: Sentence
    paragraphs: list[Paragraph]
    chinese: bool

    @property
    def words(self) -> int:
        """Return the number of words in the paragraphs."""
        return sum(len(sentence) for paragraph in self.paragraphs for sentence in paragraph)


class Writer:
    """Draws the words of one page.

    :param dice: of the page.
    """

    def __init__(self, seed: int, dice: random.Random, *, chinese: bool) -> None:
        self._dice = dice
        self._chinese = chinese
        self._known = vocabulary(seed, chinese=chinese)
        self._topic: Topic = drawn_topic(seed, dice, chinese=chinese)
        # Pages of one topic don't dwell on the same of its words.
        self._topic_words = dice.sample(self._topic.words, len(self._topic.words))
        self._names = [self._name() for _ in range(_NAMES)]
        self._ready: list[str] = []

    def _name(self) -> str:
        dice = self._dice
        if self._chinese:
            return dice.choice(_SURNAMES) + dice.choice(_GIVEN)
        return "".join(dice.sample(self._known.words, 2)).capitalize()[:14]

    def go_on_with(self, dice: random.Random) -> None:
        """Draw from other dice from now on, on the same topic."""
        self._dice = dice
        self._ready = []

    def words(self, count: int) -> list[str]:
        """Return a run of words."""
        while len(self._ready) < count:
            self._ready += self._more()
        words, self._ready = self._ready[:count], self._ready[count:]
        return words

    def _more(self) -> list[str]:
        # Many at once, which costs less.
        known, dice = self._known, self._dice
        sources = (known.function_words, self._topic_words, known.words, self._names)
        picked = dice.choices(range(len(sources)), cum_weights=_SHARES, k=_AT_ONCE)
        supplies = [
            iter(drawn(dice, source, picked.count(number))) for number, source in enumerate(sources)
        ]
        return [next(supplies[number]) for number in picked]

    def sentence(self) -> Sentence:
        """Return a sentence."""
        return self.words(self._dice.randint(6, 22))

    def text(self) -> Text:
        """Return a whole text."""
        dice = self._dice
        left = dice.randint(_SHORTEST, _LONGEST)
        title = self.words(dice.randint(4, 9))
        paragraphs: list[Paragraph] = []
        while left > 0:
            paragraph = [self.sentence() for _ in range(dice.randint(2, 6))]
            paragraphs.append(paragraph)
            left -= sum(map(len, paragraph))
        return Text(title, paragraphs, self._chinese)


def with_other_words(text: Text, writer: Writer, dice: random.Random) -> Text:
    """Return the text with up to 3 % of the words replaced, at least one."""
    count = max(1, int(_CHANGED_SHARE * text.words * dice.random()))
    paragraphs = [[list(sentence) for sentence in paragraph] for paragraph in text.paragraphs]
    places = [
        (sentence, at)
        for paragraph in paragraphs
        for sentence in paragraph
        for at in range(len(sentence))
    ]
    for (sentence, at), word in zip(dice.sample(places, count), writer.words(count), strict=True):
        sentence[at] = word
    return text._replace(paragraphs=paragraphs)


def with_a_sentence(text: Text, writer: Writer, dice: random.Random) -> Text:
    """Return the text with one more sentence."""
    paragraphs = [list(paragraph) for paragraph in text.paragraphs]
    grown = dice.choice(paragraphs)
    grown.insert(dice.randint(0, len(grown)), writer.sentence())
    return text._replace(paragraphs=paragraphs)


def with_a_paragraph_moved(text: Text, _writer: Writer, dice: random.Random) -> Text:
    """One paragraph in some place; one in so many as there are falls back into its own."""
    paragraphs = list(text.paragraphs)
    moved = paragraphs.pop(dice.randrange(len(paragraphs)))
    paragraphs.insert(dice.randint(0, len(paragraphs)), moved)
    return text._replace(paragraphs=paragraphs)


def written(sentence: Sentence, seed: int, *, chinese: bool, stop: bool = True) -> str:
    """A sentence as it stands on a page: a comma after every seven words."""
    known = vocabulary(seed, chinese=chinese)
    clauses = [known.space.join(sentence[at : at + 7]) for at in range(0, len(sentence), 7)]
    line = known.comma.join(clauses)
    return line[:1].upper() + line[1:] + (known.stop if stop else "")
