"""``python -m scrapy_simhash``: the same as ``scrapy simhash``, without Scrapy's own options."""

from __future__ import annotations

if __name__ == "__main__":
    # Ctrl-C while it is imported is one, too.
    try:
        from scrapy_simhash.commands.main import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(main())
