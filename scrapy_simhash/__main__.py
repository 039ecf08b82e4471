"""Run ``python -m scrapy_simhash``: ``scrapy simhash`` without Scrapy's own options."""

from __future__ import annotations

if __name__ == "__main__":
    # Ctrl-C during the import has the exit code of a later Ctrl-C, and shows no traceback.
    try:
        from scrapy_simhash.commands.main import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(main())
