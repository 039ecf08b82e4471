"""A worker reads the text that a spider reads, whether it gets text or bytes."""

import codecs

import pytest
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.fingerprinting import page_for_worker
from scrapy_simhash.workers.pages import text_of_page
from tests.crawl.harness import python

UTF_8 = "<p>Über 山坡 \U0001f6a2</p>".encode()
META = b'<meta charset="utf-8">'


class Rewriting(HtmlResponse):
    """A response whose `text` differs from its body."""

    @property
    def text(self):
        return super().text.replace("p", "b")


def response(body, charset=None, cls=HtmlResponse, **arguments):
    headers = {"Content-Type": f"text/html; charset={charset}" if charset else "text/html"}
    return cls("http://example.org/", body=body, headers=headers, **arguments)


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (response(UTF_8, "utf-8"), bytes),
        (response(META + UTF_8), bytes),
        (response(UTF_8), bytes),
        (response(UTF_8[:-6] + b"\xff\xed\xa0\x80</p>", "utf-8"), bytes),
        (response(codecs.BOM_UTF8 + UTF_8, "utf-8"), str),
        (response("<p>Über</p>".encode("utf-16")), str),
        (response("<p>Über</p>".encode("utf-16"), encoding="utf-8"), str),
        (response("<p>山坡</p>".encode("gbk"), "gbk"), str),
        (response("<p>Über</p>".encode("latin-1")), str),
        (response("<p>\ud800</p>".encode("utf-16-le", "surrogatepass"), "utf-16-le"), str),
        (response(UTF_8, "utf-8", Rewriting), str),
    ],
)
def test_a_worker_reads_the_text_of_the_response(page, kind):
    made = page_for_worker(page)
    assert isinstance(made, kind)
    assert text_of_page(made) == page.text


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
