"""Generated sites whose error pages have status 200; see `benchmarks/error_pages.py`."""
