"""The Scrapy add-on that installs the components of the plugin."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from scrapy_simhash.crawl.settings import (
    is_enabled,
    logged_settings_errors,
    require_known,
    slices_in_use,
    unknown_settings,
)

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Next to the engine, so that Scrapy's middlewares decompress, redirect and retry first.
DOWNLOADER_MIDDLEWARE_ORDER = 40
OUTPUT_MIDDLEWARE_ORDER = -1_000_000  # next to the engine
SPIDER_MIDDLEWARE_ORDER = 1_000_000  # next to the callback
# Before the user's pipelines: an object by which a pipeline replaces an item has no known page.
PIPELINE_ORDER = 50


class Addon:
    """The add-on, installed by ``ADDONS = {"scrapy_simhash.Addon": 500}``.

    It also installs the components of the slices (`scrapy_simhash.slices`) that settings turn on.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components to the settings, except those that are listed there already.

        :raises NotConfigured: SIMHASH_ENABLED is False. The components are then not imported.
        :raises SettingsError: SIMHASH_ENABLED is not a boolean, or misspelled.
        """
        with logged_settings_errors():
            if not is_enabled(settings):
                if "SIMHASH_ENABLED" in unknown_settings(settings).values():  # misspelled
                    require_known(settings)
                raise NotConfigured
        from scrapy_simhash.crawl.downloader_middleware import SimhashDownloaderMiddleware
        from scrapy_simhash.crawl.extension import SimhashExtension
        from scrapy_simhash.crawl.middleware import SimhashOutputMiddleware, SimhashSpiderMiddleware
        from scrapy_simhash.crawl.pipeline import SimhashPipeline

        for name, component, order in (
            ("EXTENSIONS", SimhashExtension, 0),
            ("DOWNLOADER_MIDDLEWARES", SimhashDownloaderMiddleware, DOWNLOADER_MIDDLEWARE_ORDER),
            ("SPIDER_MIDDLEWARES", SimhashOutputMiddleware, OUTPUT_MIDDLEWARE_ORDER),
            ("SPIDER_MIDDLEWARES", SimhashSpiderMiddleware, SPIDER_MIDDLEWARE_ORDER),
            ("ITEM_PIPELINES", SimhashPipeline, PIPELINE_ORDER),
            *(
                (name, resolve_name(path), order)
                for slice_ in slices_in_use(settings)
                for name, path, order in slice_.components
            ),
        ):
            settings.setdefault_in_component_priority_dict(name, component, order)
