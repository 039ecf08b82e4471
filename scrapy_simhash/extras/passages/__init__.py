"""Find passages of a text that also appear in other documents."""

from __future__ import annotations

from scrapy_simhash.setting import PATH, Kind, Setting, is_off, mapping
from scrapy_simhash.slices import Slice

TAGGED_FIELDS = ("known_share", "sources")  # by default


def _parse_directory(value: object) -> object:
    """Return the directory of the passage index, whether or not crawls use it."""
    if is_off(value) or value in (True, "True", "true", "1"):
        return "simhash-passages"
    return PATH.parse(value)


_HERE = "scrapy_simhash.extras.passages"
SLICE = Slice(
    switch="SIMHASH_PASSAGES",
    settings=(
        Setting(
            "SIMHASH_PASSAGES",
            Kind("True, False, or the path of a directory", _parse_directory),
            default=False,
            meaning=(
                "Tag items with the share of their text that appears elsewhere, and where. A value "
                "other than `True` is the directory of the passage index, which all spiders use; "
                'by default `"simhash-passages"`. A relative path is inside the data directory.'
            ),
        ),
        Setting(
            "SIMHASH_PASSAGES_TAGS",
            mapping(*TAGGED_FIELDS, "similar_share", "common_share"),
            default={field: f"simhash_{field}" for field in TAGGED_FIELDS},
            meaning=(
                "Field of the result → item field; `similar_share` and `common_share` can be "
                "added. `{}` tags no items."
            ),
        ),
    ),
    components=(("ITEM_PIPELINES", f"{_HERE}.crawl.PassagesPipeline", 51),),
    needs_page_texts=True,
    command=f"{_HERE}.command.COMMAND",
)
