"""A worker loads the dictionary of Chinese words when it is told to."""

import pytest

from tests.crawl.harness import python

DICTIONARY = """
import sys
from scrapy_simhash import Detector, Scheme
from scrapy_simhash.workers.pages import serve_pages

def is_loaded():
    return not sys.modules.keys().isdisjoint(("jieba", "rjieba.rjieba"))

answer = serve_pages((Detector(Scheme.preset("wide")), sys.argv[1] == "at start"))
loaded = [is_loaded()]
for page in ("<p>The ferry leaves at noon.</p>", "<p>渡轮上午离开码头</p>"):
    answer(page)
    loaded.append(is_loaded())
print(*loaded)
"""


@pytest.mark.parametrize(
    ("when", "loaded"), [("later", "False False True"), ("at start", "True True True")]
)
def test_the_dictionary_is_loaded_at_start_or_by_the_first_chinese_page(when, loaded):
    child = python("-X", "utf8", "-c", DICTIONARY, when)
    assert child.stdout == f"{loaded}\n"
