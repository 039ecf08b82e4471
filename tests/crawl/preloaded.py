"""What crawls import, and what they do slowly the first time: choose tables, extract a text, read the
public suffixes. The process that `multiprocessing` forks children from imports this module.
"""

import gc
from contextlib import suppress
from importlib import import_module

from scrapy.settings import default_settings

# No reactor, and nothing that starts threads; a test checks what a crawl imports itself.
IMPORTED = """
    scrapy.cmdline scrapy.core.engine scrapy.core.downloader.handlers.http11 scrapy.dupefilters
    scrapy.logformatter scrapy.pqueues scrapy.squeues scrapy.statscollectors
    scrapy.extensions.httpcache aiohttp.web rapidfuzz.fuzz rjieba jieba plyvel
    scrapy_simhash.crawl.addon scrapy_simhash.crawl.middleware scrapy_simhash.crawl.pipeline
    scrapy_simhash.index.entry_tables scrapy_simhash.index.leveldb scrapy_simhash.index.store
    tests.crawl.spiders
""".split()
for kind in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS"):
    components = getattr(default_settings, f"{kind}_BASE")
    IMPORTED += [component.rpartition(".")[0] for component in components]
for name in IMPORTED:
    with suppress(ImportError):  # not in every Scrapy
        import_module(name)

from scrapy_simhash import Detector  # noqa: E402 - after what it needs
from scrapy_simhash.index import IndexSpec  # noqa: E402
from scrapy_simhash.scheme import DEFAULT_PRESET, preset  # noqa: E402
from scrapy_simhash.sites import registered_domain  # noqa: E402

default = preset(DEFAULT_PRESET)
IndexSpec("leveldb", default.scheme, default.max_distance).to_manifest()
Detector(default.scheme).fingerprint_page(f"<p>{'The ferry waits at the pier. ' * 20}</p>")
registered_domain("example.com")
# Children neither visit nor copy the pages of what was imported here.
gc.collect()
gc.freeze()
