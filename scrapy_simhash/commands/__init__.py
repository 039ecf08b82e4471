"""The command line: ``scrapy simhash …`` and ``python -m scrapy_simhash …``."""
