"""Recognize error pages that a site serves with status 200."""

from __future__ import annotations

from scrapy_simhash.setting import Setting, choice, off_or
from scrapy_simhash.slices import Slice

SLICE = Slice(
    switch="SIMHASH_ERROR_PAGES",
    settings=(
        Setting(
            "SIMHASH_ERROR_PAGES",
            off_or(choice("drop", "tag")),
            default=False,
            meaning=(
                "Request at most two URLs of each host that cannot exist, to recognize error pages "
                'with status 200, and drop or tag these: `"drop"` or `"tag"`.'
            ),
        ),
    ),
    needs_pages=True,
    components=(
        ("DOWNLOADER_MIDDLEWARES", "scrapy_simhash.extras.error_pages.probing.ErrorPages", 42),
    ),
)
