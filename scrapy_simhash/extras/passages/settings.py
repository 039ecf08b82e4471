"""Read and validate the SIMHASH_PASSAGES* settings."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_args

from scrapy_simhash.extras.passages import DEFAULT_COMMON_DOCUMENTS, DEFAULT_MIN_SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.crawl.settings_reader import SettingsReader

TAGGED_FIELDS = ("known_share", "sources")  # by default
REPORT_FIELDS = (*TAGGED_FIELDS, "similar_share", "common_share")
PASSAGE_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "SIMHASH_PASSAGES": False,
        "SIMHASH_PASSAGES_DIR": "simhash-passages",
        "SIMHASH_PASSAGES_UNIT": None,
        "SIMHASH_PASSAGES_KEEP_TEXT": None,
        "SIMHASH_PASSAGES_MODE": "exact",
        "SIMHASH_PASSAGES_MIN_SIMILARITY": DEFAULT_MIN_SIMILARITY,
        "SIMHASH_PASSAGES_COMMON": DEFAULT_COMMON_DOCUMENTS,
        "SIMHASH_PASSAGES_TAGS": {field: f"simhash_{field}" for field in TAGGED_FIELDS},
    }
)


class PassageSettings:
    """The validated SIMHASH_PASSAGES* settings. :raises SettingsError: one is invalid."""

    def __init__(self, read: SettingsReader) -> None:
        from scrapy_simhash.extras.passages.cutting import Cutting, Unit
        from scrapy_simhash.extras.passages.matching import CheckOptions, Mode

        unit, keep_text = "SIMHASH_PASSAGES_UNIT", "SIMHASH_PASSAGES_KEEP_TEXT"
        self.directory: Final = read.path("SIMHASH_PASSAGES_DIR")
        self.cutting: Final = (
            Cutting(read.choice(unit, get_args(Unit))) if read.is_set(unit) else None
        )
        """None keeps that of an existing index; a new index then cuts into sentences."""
        self.keep_text: Final = read.boolean(keep_text) if read.is_set(keep_text) else None
        """None keeps the choice of an existing index; a new index then stores texts."""
        self.check_options: Final = CheckOptions(
            mode=read.choice("SIMHASH_PASSAGES_MODE", get_args(Mode)),
            min_similarity=read.share("SIMHASH_PASSAGES_MIN_SIMILARITY"),
            common_documents=read.whole("SIMHASH_PASSAGES_COMMON", 0, 1 << 32),
        )
        self.tags: Final = read.tags("SIMHASH_PASSAGES_TAGS", REPORT_FIELDS)
        """Field of a `PassageReport` → item field."""
