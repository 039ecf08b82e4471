"""The extractors that are installed, and extractors by import path for tests."""

from importlib.util import find_spec

from scrapy_simhash.extraction import EXTRACTORS

OPTIONAL = ("trafilatura", "resiliparse")
OURS = [name for name in EXTRACTORS if name not in OPTIONAL]
INSTALLED = [*OURS, *(name for name in OPTIONAL if find_spec(name))]
NOT_CALLABLE = "text"


def upper(html):
    return html.upper()


def nothing(_html):
    return None


def failing(html):
    raise RuntimeError(f"no idea what {html[:9]} means")
