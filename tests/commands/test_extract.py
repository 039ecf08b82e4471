"""``extract``: texts of pages, why they are what they are, and what is no page."""

import json

from scrapy.settings import Settings

from scrapy_simhash.scheme import Scheme
from tests.crawl.site import serving

from .conftest import MODULE, SCRAPY
from .samples import CHINESE, FERRY, NOTICE, written

SENTENCES = [
    f"Boat {n} crossed the strait at {n * 7 % 24} o'clock with {n * 13} passengers on its deck."
    for n in range(2, 14)
]
ARTICLE = "".join(f"<p>{sentence} {FERRY}</p>" for sentence in SENTENCES)
PAGE = f"""<!DOCTYPE html><html><head><title>Ferries\x1b[31m</title>
<link rel="canonical" href="https://boats.example/ferries"></head>
<body><nav><a href="/">Home</a><a href="/more">More</a></nav>
<main class="story"><div class="article"><h1>Crossings of the strait</h1>{ARTICLE}</div></main>
<p class="comment">{NOTICE}</p></body></html>"""
# What readability takes is little of what there is to read.
LISTS = "".join(
    f"<section><h3>{n}</h3><ul><li>{sentence}</li></ul></section>"
    for n, sentence in enumerate(SENTENCES * 3)
)
SIDEBAR = f"""<html><head><title>Docs</title></head><body>{LISTS}
<div class="article"><p>{NOTICE} Also, by the way, on Sundays.</p></div></body></html>"""


def extracted(run, *arguments):
    ran = run("extract", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def test_what_tells_pages_apart(run, folder, monkeypatch):
    monkeypatch.setattr(
        "scrapy_simhash.commands._settings.project_settings",
        lambda: Settings({"SIMHASH_DISTINCT_BY": ["h1::text", ".sku"]}),
    )
    name = written(folder, PAGE, "page.html")
    assert extracted(run, name)["distinct"] == {"h1::text": ["Crossings of the strait"], ".sku": []}
    ran = run("extract", name)
    assert "  h1::text\n    Crossings of the strait\n" in ran.err
    assert "  .sku  nothing\n" in ran.err


def test_several_pages(run, folder):
    names = [written(folder, PAGE, "page.html"), written(folder, FERRY, "ferry.txt")]
    ran = run("extract", *names)
    assert ran.code == 0
    titles = [line for line in ran.out.splitlines() if line.startswith("==> ")]
    assert titles == ["==> page.html <==", "==> ferry.txt <=="]
    assert FERRY in ran.out.splitlines()
    assert "Crossings of the strait" in ran.out.splitlines()
    pages = extracted(run, *names)["pages"]
    assert [page["text"] for page in pages] == [extracted(run, name)["text"] for name in names]


def test_the_text_is_the_result_and_the_reason_a_note(run, folder):
    ran = run("extract", written(folder, PAGE, "page.html"))
    assert ran.code == 0
    sentences = [f"{sentence} {FERRY}" for sentence in SENTENCES]
    assert ran.out.splitlines() == ["Crossings of the strait", *sentences]
    told = dict(line.split(maxsplit=1) for line in ran.err.splitlines() if line)
    assert told["page"] == "page.html"
    assert told["way"] == "readability"
    assert told["why"] == "readability found enough of the page"
    assert told["heading"] == "Crossings of the strait"
    assert told["title"] == "Ferries [31m"
    assert told["canonical"] == "https://boats.example/ferries"
    assert told["preset"] == "wide"
    assert float(told["extraction_ms"]) > 0
    assert "skipped" not in told


def test_what_json_says(run, folder):
    report = extracted(run, written(folder, PAGE, "page.html"))
    times = {name: report.pop(name) for name in list(report) if name.endswith("_ms")}
    assert set(times) == {"extraction_ms", "tokenization_ms", "fingerprint_ms"}
    assert all(value >= 0 for value in times.values())
    scheme = Scheme.preset("wide")
    sentences = (f"{sentence} {FERRY}" for sentence in SENTENCES)
    text = "\n".join(("Crossings of the strait", *sentences))
    assert report == {
        "page": "page.html",
        "url": None,
        "kind": "html",
        "preset": "wide",
        "scheme": scheme.id,
        "extractor": "readability",
        "way": "readability",
        "why": "readability found enough of the page",
        "selectors": [],
        "title": "Ferries [31m",
        "heading": "Crossings of the strait",
        "canonical": "https://boats.example/ferries",
        "characters": len(text),
        "tokens": len(scheme.tokens(text)),
        "min_tokens": 30,
        "skipped": None,
        "error": None,
        "distinct": {},
        "fingerprint": f"{scheme.fingerprint(text):064x}",
        "text": text,
    }


def test_a_page_of_which_readability_finds_too_little(run, folder):
    report = extracted(run, written(folder, SIDEBAR, "page.html"))
    assert (report["way"], report["extractor"]) == ("segments", "readability")
    assert report["why"] == "readability found too little of the page"
    assert SENTENCES[3] in report["text"]
    ran = run("extract", "page.html")
    assert "why              readability found too little of the page\n" in ran.err


def test_selectors(run, folder):
    name = written(folder, PAGE, "page.html")
    report = extracted(
        run, "-s", "SIMHASH_CONTENT_SELECT=.comment", "-s", "SIMHASH_CONTENT_REMOVE=//nav", name
    )
    assert (report["way"], report["text"]) == ("selected", NOTICE)
    assert report["why"] == "the selectors found the content"
    assert report["selectors"] == [
        {"use": "remove", "selector": "//nav", "elements": 1},
        {"use": "select", "selector": ".comment", "elements": 1},
    ]
    assert report["skipped"] == "few_tokens"
    # What is removed cannot be selected.
    report = extracted(
        run, "-s", "SIMHASH_CONTENT_SELECT=.comment", "-s", "SIMHASH_CONTENT_REMOVE=.comment", name
    )
    assert [count["elements"] for count in report["selectors"]] == [1, 0]
    assert report["why"] == "no selector found anything; readability found enough of the page"
    ran = run("extract", "-s", "SIMHASH_CONTENT_SELECT=.comment", name)
    assert ran.out == f"{NOTICE}\n"
    assert "selectors\n  select\n    selector .comment, elements 1\n" in ran.err
    assert "few_tokens: its text has fewer tokens than SIMHASH_MIN_TOKENS\n" in ran.err


def test_an_extractor_by_name(run, folder):
    name = written(folder, PAGE, "page.html")
    report = extracted(run, "-s", "SIMHASH_EXTRACTOR=text", name)
    assert (report["way"], report["why"]) == ("text", "the extractor is text")
    report = extracted(run, "-s", "SIMHASH_EXTRACTOR=tests.extractors.failing", name)
    assert (report["skipped"], report["text"]) == ("extraction_error", "")
    assert "tests.extractors.failing" in report["why"]
    ran = run("extract", "-s", "SIMHASH_EXTRACTOR=tests.extractors.failing", name)
    assert "extraction_error: its extractor failed\n" in ran.err


def test_plain_text_is_all_text(run, folder):
    report = extracted(run, "-s", "SIMHASH_PRESET=classic", written(folder, f"{CHINESE}\nBoat\t1"))
    assert (report["kind"], report["way"], report["title"]) == ("text", "", "")
    assert report["why"] == "it is plain text: all of it counts"
    assert (report["text"], report["preset"]) == (f"{CHINESE}\nBoat\t1", "classic")


def test_tokens(run, folder):
    name, tokens = written(folder, FERRY), Scheme.preset("wide").tokens(FERRY)
    ran = run("extract", "--tokens", name)
    assert ran.out.splitlines() == tokens
    assert extracted(run, "--tokens", name)["token_list"] == tokens


def test_a_page_of_a_site(run_process, folder):
    with serving() as site:
        site.put("/old", b"", status=302, location=site.url("/new"))
        address = site.put("/new", PAGE)
        ran = run_process(*SCRAPY, "extract", "--json", site.url("/old"))
        assert (ran.code, ran.err) == (0, "")
        report = json.loads(ran.out)
        assert (report["page"], report["url"]) == (site.url("/old"), address)
        assert report["text"].startswith(f"Crossings of the strait\n{SENTENCES[0]}")
        settings = ["-s", 'SIMHASH_CONTENT_SELECT=[".comment"]', "-s", "SIMHASH_PRESET=classic"]
        ran = run_process(*SCRAPY, "extract", site.url("/old"), *settings)
        assert ran.out == f"{NOTICE}\n"
        assert f"url              {address}\n" in ran.err
        assert "preset           classic\n" in ran.err
        ran = run_process(*MODULE, "extract", site.url("/none"))
        assert (ran.code, ran.out) == (1, "")
        assert "the server answered 404" in ran.err
