"""Invented texts for the tests of passages."""

from __future__ import annotations

FERRY = (
    "The ferry leaves the northern pier at a quarter past every hour. In winter the last crossing "
    "is at seven, because the channel lights are switched off to save the batteries. Bicycles "
    "travel free of charge, as long as their owners hold them upright during the whole passage.\n"
    "Two sisters have run the line since their uncle retired with a bad knee."
)
QUARRY = (
    "Slate from this quarry covers half the roofs of the valley. The seam runs under the road, "
    "which had to be moved twice, and both times the inn moved with it. Today a choir rehearses "
    "in the deepest chamber, where a single note hangs in the air for eleven seconds."
)
TEA = (
    "山坡上的茶园天还没亮就热闹起来，采茶的人背着竹篓一排一排往上走。"
    "春茶只采一芽一叶，露水干了以后才可以动手。"
    "老师傅说炒茶最要紧的是火候，铁锅的温度全靠手背去试。"
)
ROPE = (
    "Канатная мастерская стоит у самой воды, и её длинный навес тянется вдоль всего причала. "
    "Пеньку здесь чешут вручную, потому что машина рвёт волокно и канат выходит слабым. "
    "Готовую бухту проверяют тремя волами и одним очень терпеливым мастером."
)


def edited(text: str, every: int) -> str:
    """A letter in so many replaced, so that its neighbours stay."""
    return "".join(
        "ж" if character.isalpha() and number % every == every // 2 else character
        for number, character in enumerate(text)
    )
