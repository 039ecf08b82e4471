"""Pages of a small site, some of them copies."""

import random
from functools import cache

SYLLABLES = [one + other for one in "bcdfghjklmnprstvwxyz" for other in "aeiou"]


def sentence(dice, words=12):
    return " ".join("".join(dice.choices(SYLLABLES, k=3)) for _ in range(words)).capitalize() + "."


@cache
def articles(count, copies, seed=7):
    """Texts, the first `copies` of which come again at the end with one sentence more."""
    dice = random.Random(seed)
    texts = [" ".join(sentence(dice) for _ in range(15)) for _ in range(count)]
    return texts + [f"{text} {sentence(dice)}" for text in texts[:copies]]


def page(text, title="News"):
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
        f'<nav><a href="/">Home</a></nav><article><p>{text}</p></article></body></html>'
    )


def write_pages(folder, texts):
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number:03}.html").write_text(page(text), encoding="utf-8")
    return folder
