"""What a command takes from the Scrapy project that it is run in, if any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.project import get_project_settings

from scrapy_simhash.crawl.passage_settings import PASSAGE_SETTINGS
from scrapy_simhash.crawl.reader import SettingsReader
from scrapy_simhash.crawl.settings import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.settings import Settings


def project_settings() -> Settings:
    """Of the project, or Scrapy's own outside of one; logging is off unless the project says."""
    settings = get_project_settings()
    settings.set("LOG_ENABLED", value=False, priority="command")
    return settings


def passages_directory(settings: Settings | None) -> Path:
    """SIMHASH_PASSAGES_DIR, in the data directory ``.scrapy`` if it is relative."""
    settings = project_settings() if settings is None else settings
    return SettingsReader(settings, PASSAGE_SETTINGS).path("SIMHASH_PASSAGES_DIR")


def page_index_base(settings: Settings | None) -> Path:
    """SIMHASH_DIR, in the data directory ``.scrapy`` if it is relative."""
    settings = project_settings() if settings is None else settings
    return SettingsReader(settings, SETTINGS).path("SIMHASH_DIR")
