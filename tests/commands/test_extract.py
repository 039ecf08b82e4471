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
    lines = ran.out.splitlines()
    titles = [line for line in lines if line.startswith("==> ")]
    assert titles == ["==> page.html <==", "==> ferry.txt <=="]
    assert {FERRY, "Crossings of the strait"} <= set(lines)
    pages = extracted(run, *names)["pages"]
    assert [page["text"] for page in pages] == [extracted(run, name)["text"] for name in names]


TEXT = "\n".join(("Crossings of the strait", *(f"{sentence} {FERRY}" for sentence in SENTENCES)))


def test_the_text_is_the_result_and_the_way_a_note(run, folder):
    ran = run("extract", written(folder, PAGE, "page.html"))
    assert (ran.code, ran.out) == (0, f"{TEXT}\n")
    for said in ("way              readability", "title            Ferries [31m"):
        assert f"{said}\n" in ran.err
    assert "skipped" not in ran.err


def test_what_json_says(run, folder):
    report = extracted(run, written(folder, PAGE, "page.html"))
    times = {name: report.pop(name) for name in list(report) if name.endswith("_ms")}
    assert set(times) == {"extraction_ms", "tokenization_ms", "fingerprint_ms"}
    assert all(value >= 0 for value in times.values())
    scheme = Scheme.preset("wide")
    assert report == {
        "page": "page.html",
        "kind": "html",
        "preset": "wide",
        "scheme": scheme.id,
        "extractor": "readability",
        "way": "readability",
        "selectors": [],
        "title": "Ferries [31m",
        "heading": "Crossings of the strait",
        "canonical": "https://boats.example/ferries",
        "characters": len(TEXT),
        "tokens": len(scheme.tokens(TEXT)),
        "min_tokens": 30,
        **dict.fromkeys(("url", "skipped", "error")),
        "distinct": {},
        "fingerprint": f"{scheme.fingerprint(TEXT):064x}",
        "text": TEXT,
    }


def test_selectors(run, folder):
    name = written(folder, PAGE, "page.html")
    select = ("-s", "SIMHASH_CONTENT_SELECT=.comment")
    report = extracted(run, *select, "-s", "SIMHASH_CONTENT_REMOVE=//nav", name)
    assert (report["way"], report["text"]) == ("selected", NOTICE)
    assert report["selectors"] == [
        {"use": "remove", "selector": "//nav", "elements": 1},
        {"use": "select", "selector": ".comment", "elements": 1},
    ]
    assert report["skipped"] == "few_tokens"
    # What is removed cannot be selected.
    report = extracted(run, *select, "-s", "SIMHASH_CONTENT_REMOVE=.comment", name)
    assert [count["elements"] for count in report["selectors"]] == [1, 0]
    ran = run("extract", *select, name)
    assert ran.out == f"{NOTICE}\n"
    assert "selectors\n  select\n    selector .comment, elements 1\n" in ran.err
    assert "few_tokens: its text has fewer tokens than SIMHASH_MIN_TOKENS\n" in ran.err


def test_an_extractor_by_name(run, folder):
    name = written(folder, PAGE, "page.html")
    report = extracted(run, "-s", "SIMHASH_EXTRACTOR=tests.extractors.failing", name)
    assert (report["skipped"], report["text"]) == ("extraction_error", "")
    assert "tests.extractors.failing" in report["error"]
    ran = run("extract", "-s", "SIMHASH_EXTRACTOR=tests.extractors.failing", name)
    assert "extraction_error: its extractor failed\n" in ran.err


def test_plain_text_is_all_text(run, folder):
    report = extracted(run, "-s", "SIMHASH_PRESET=classic", written(folder, f"{CHINESE}\nBoat\t1"))
    assert (report["kind"], report["way"], report["title"]) == ("text", "", "")
    assert (report["text"], report["preset"]) == (f"{CHINESE}\nBoat\t1", "classic")


def test_tokens(run, folder):
    name, tokens = written(folder, FERRY), Scheme.preset("wide").tokens(FERRY)
    ran = run("extract", "--tokens", name)
    assert ran.out.splitlines() == tokens
    assert extracted(run, "--tokens", name)["token_list"] == tokens


def test_pages_of_a_site(run_process, folder):
    written(folder, FERRY)
    with serving() as site:
        old = site.put("/old", b"", status=302, location=site.url("/new"))
        plain = site.put("/plain", NOTICE, content_type="text/plain")
        address = site.put("/new", PAGE)
        settings = ["-s", 'SIMHASH_CONTENT_SELECT=[".comment"]', "-s", "SIMHASH_PRESET=classic"]
        ran = run_process(*SCRAPY, "extract", old, *settings)
        assert ran.out == f"{NOTICE}\n"
        assert f"url              {address}\n" in ran.err
        assert "preset           classic\n" in ran.err
        ran = run_process(*MODULE, "extract", "--json", plain, "letter.txt", old, old)
        found = [(page["page"], page["url"], page["kind"]) for page in json.loads(ran.out)["pages"]]
        html = old, address, "html"
        assert found == [(plain, plain, "text"), ("letter.txt", None, "text"), html, html]
        site.hits.clear()
        # A file that is not there is known before anything is fetched.
        assert "no such file" in run_process(*MODULE, "extract", plain, "none.txt").err
        assert site.hits == []
        ran = run_process(*MODULE, "extract", site.url("/none"))
        assert (ran.code, ran.out) == (1, "")
        assert "the server answered 404" in ran.err
