"""Cut text into words with part-of-speech tags as jieba does, many times faster."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jieba.posseg import POSTokenizer, char_state_tab_P, emit_P, pair, start_P, trans_P

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNSEEN = -3.14e100  # jieba's log probability of a character that a state never emits


class Tagger(POSTokenizer):  # type: ignore[misc]
    """jieba's POSTokenizer with the Viterbi search in numpy.

    jieba's loop in Python takes 1 ms for a common character, and far more for a rare one.
    """

    def _POSTokenizer__cut(self, sentence: str) -> Iterator[Any]:  # noqa: N802
        begin = end = 0
        route = _most_likely(sentence)
        for i, (place, tag) in enumerate(route):
            if place == "B":
                begin = i
            elif place in "ES":
                yield pair(sentence[begin if place == "E" else i : i + 1], tag)
                end = i + 1
        if end < len(sentence):
            yield pair(sentence[end:], route[end][1])


@lru_cache(maxsize=1)
def _model() -> Any:
    """Return the states, the log probabilities of steps between states, and two boolean arrays.

    The first array tells which steps are possible; the second, which states have a next one.
    """
    import numpy as np

    # Ascending, because jieba takes the greatest of equally likely states.
    states = sorted(trans_P)
    steps = np.array([[trans_P[start].get(to, -np.inf) for to in states] for start in states])
    is_possible = np.array([[to in trans_P[start] for to in states] for start in states])
    return states, steps, is_possible, is_possible.any(axis=1)


@lru_cache(maxsize=30_000)
def _emitting_states(character: str) -> Any:
    """Return the numbers of the states that may emit a character, and the log probabilities."""
    import numpy as np

    states = _model()[0]
    numbers = np.array(sorted(map(states.index, char_state_tab_P.get(character, states))))
    return numbers, _emission(character, numbers)


def _emission(character: str, numbers: Any) -> Any:
    import numpy as np

    states = _model()[0]
    return np.array([emit_P[states[i]].get(character, _UNSEEN) for i in numbers])


def _most_likely(sentence: str) -> list[tuple[str, str]]:
    """Return the most likely (place in its word, tag) of each character."""
    import numpy as np

    states, steps, is_possible, has_next = _model()
    now, emission = _emitting_states(sentence[0])
    values = np.array([start_P[states[i]] for i in now]) + emission
    path = [(now, np.zeros(0, dtype=np.int64))]
    for character in sentence[1:]:
        with_next = np.flatnonzero(has_next[now])
        before, is_reached = now[with_next], is_possible[now].any(axis=0)
        now, emission = _emitting_states(character)
        is_candidate = is_reached[now]
        now, emission = now[is_candidate], emission[is_candidate]
        if not len(now):  # jieba's fallback: no state that emits the character can be reached
            now = np.flatnonzero(is_reached) if is_reached.any() else np.arange(len(states))
            emission = _emission(character, now)
        sums = (values[with_next][:, None] + steps[before[:, None], now]) + emission
        best = len(before) - 1 - sums[::-1].argmax(axis=0)
        values = sums[best, np.arange(len(now))]
        path.append((now, with_next[best]))
    at = len(values) - 1 - int(values[::-1].argmax())
    route = []
    for numbers, previous in reversed(path):
        route.append(states[numbers[at]])
        at = previous[at] if len(previous) else 0
    return route[::-1]
