"""Parts of ``crawl.py``."""
