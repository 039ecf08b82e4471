"""``python -m scrapy_simhash``: the same as ``scrapy simhash``, without Scrapy's own options."""

from __future__ import annotations

from scrapy_simhash.commands.main import main

if __name__ == "__main__":
    raise SystemExit(main())
