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

    jieba's loop in Python takes a millisecond for each common character, and longer for rare ones.
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
    """Return the states, and three arrays: the log probability of each step from state to state,
    whether the step is possible, and whether any step from a state is possible.
    """
    import numpy as np

    # Sorted, because jieba takes the greatest of equally likely states (see `_last_argmax`).
    states = sorted(trans_P)
    steps = np.array([[trans_P[start].get(to, -np.inf) for to in states] for start in states])
    is_possible = np.array([[to in trans_P[start] for to in states] for start in states])
    return states, steps, is_possible, is_possible.any(axis=1)


@lru_cache(maxsize=30_000)
def _emitting_states(character: str) -> Any:
    """Return the numbers of the states that may emit a character, and its log probabilities."""
    import numpy as np

    states = _model()[0]
    numbers = np.array(sorted(map(states.index, char_state_tab_P.get(character, states))))
    return numbers, _emission(character, numbers)


def _emission(character: str, numbers: Any) -> Any:
    import numpy as np

    states = _model()[0]
    return np.array([emit_P[states[i]].get(character, _UNSEEN) for i in numbers])


def _most_likely(sentence: str) -> list[tuple[str, str]]:
    """Return the most likely (place, tag) of each character. The place in its word is one of B, M,
    E and S: beginning, middle, end, single character.
    """
    import numpy as np

    states, steps, is_possible, has_next = _model()
    current, emission = _emitting_states(sentence[0])
    scores = np.array([start_P[states[i]] for i in current]) + emission
    # For each character: its states, and the position of the best previous state of each.
    path = [(current, np.zeros(0, dtype=np.int64))]
    for character in sentence[1:]:
        with_next = np.flatnonzero(has_next[current])
        previous = current[with_next]
        is_reached = is_possible[current].any(axis=0)
        current, emission = _emitting_states(character)
        is_candidate = is_reached[current]
        current, emission = current[is_candidate], emission[is_candidate]
        if not len(current):  # jieba's fallback: no state that emits the character can be reached
            current = np.flatnonzero(is_reached) if is_reached.any() else np.arange(len(states))
            emission = _emission(character, current)
        sums = (scores[with_next][:, None] + steps[previous[:, None], current]) + emission
        best = _last_argmax(sums)
        scores = sums[best, np.arange(len(current))]
        path.append((current, with_next[best]))
    at = _last_argmax(scores)
    route = []
    for numbers, best_previous in reversed(path):
        route.append(states[numbers[at]])
        at = best_previous[at] if len(best_previous) else 0
    return route[::-1]


def _last_argmax(values: Any) -> Any:
    """Return the position of the maximum along the first axis, the last one of equal maxima."""
    return len(values) - 1 - values[::-1].argmax(axis=0)
