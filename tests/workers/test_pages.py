"""A worker loads the dictionary of Chinese words when it starts if the time limit is short."""

import pytest

from tests.crawl.harness import python

DICTIONARY = """
import sys
from scrapy_simhash import Detector, Scheme
from scrapy_simhash.workers.pages import serve_pages

def is_loaded():
    return not sys.modules.keys().isdisjoint(("jieba", "rjieba.rjieba"))

answer = serve_pages((Detector(Scheme.preset("wide")), int(sys.argv[1])))
loaded = [is_loaded()]
for page in ("<p>The ferry leaves at noon.</p>", "<p>渡轮上午离开码头</p>"):
    answer(page)
    loaded.append(is_loaded())
print(*loaded)
"""


@pytest.mark.parametrize(
    ("timeout_ms", "loaded"), [(5000, "False False True"), (4999, "True True True")]
)
def test_the_dictionary_is_loaded_at_start_or_by_the_first_chinese_page(timeout_ms, loaded):
    child = python("-X", "utf8", "-c", DICTIONARY, timeout_ms)
    assert child.stdout == f"{loaded}\n"
