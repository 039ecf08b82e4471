"""Pages whose text is a notice, while their content is data in scripts."""

import json
import time
from urllib.parse import quote

import pytest

from scrapy_simhash.detector import Detector
from scrapy_simhash.extraction import Selectors, extract
from scrapy_simhash.scheme import Scheme
from tests.samples import CHINESE, PARAGRAPHS

THAI = "เรือข้ามฟากไปเกาะทางเหนือออกตอนหกโมงเช้าใครพลาดเรือลำนี้ต้องรอจนถึงเที่ยงวันเพราะลำที่สองบรรทุกไปรษณีย์ขนมปังและหนังสือพิมพ์"
NOTICE = (
    "<h1>Harbour news</h1><p>This site works best in a browser that runs scripts. Please turn them "
    "on in your settings, and load the page again. If you see this text for more than a minute, "
    "write to our help desk.</p>"
)
STATE = {"page": {"title": "Ferry", "body": [f"<p>{text}</p>" for text in PARAGRAPHS * 2]}}
LONG_TEXT = "\n".join(PARAGRAPHS)
TABLE = [[f"{hour:02}:{minute:02}", hour * minute] for hour in range(24) for minute in range(60)]
CODE = (
    "function draw(state){var node=document.getElementById('root');node.render(state.page)};" * 99
)


def escaped(value):
    return json.dumps(json.dumps(value))


def pushed(text):
    element = ["$", "div", None, {"className": "a b", "children": [["$", "p", None, text]]}]
    return json.dumps(f"7:{json.dumps(element)}\n")


def hexadecimal(text):
    return "".join(one if one.isalnum() else f"\\x{ord(one):02x}" for one in text)


DATA = {
    "json": f"<script id=data type=application/json>{json.dumps(STATE)}</script>",
    "assigned": f"<script>window.__STATE__ = {json.dumps(STATE, indent=1)};</script>",
    "parsed": f"<script>var app = JSON.parse({escaped(STATE)});</script>",
    "pushed": f"<script>self.f.push([1,{escaped(STATE)}])</script>",
    "function": (
        "<script>n=(function(a,b){return {title:a,body:["
        + ",".join(f"{{text:'{text}'}}" for text in PARAGRAPHS * 2)
        + "]}}('Ferry',2))</script>"
    ),
    "numbers": f"<script>rows={json.dumps(TABLE)}</script>",
    "Chinese": f"<script type=application/json>{json.dumps(CHINESE * 3)}</script>",
    "Chinese in strings": f"<script>self.f.push([1,{escaped([CHINESE] * 3)}])</script>",
    "Thai": f"<script type=application/json>{json.dumps(THAI * 3)}</script>",
    "small scripts": "".join(
        f"<script>f.push([1,{escaped(text[:90])}])</script>" for text in PARAGRAPHS * 9
    ),
    "data in strings": "".join(
        f"<script>f.push([1,{pushed(text)}])</script>" for text in PARAGRAPHS
    ),
    "a short text": f"<script>page={json.dumps({'body': PARAGRAPHS[:2], 'url': '/a/' * 99})}</script>",
    "hexadecimal": f"<script>data='{hexadecimal(json.dumps(STATE))}'</script>",
    "escaped quotes": f"<script type=application/json>{json.dumps(STATE).replace(chr(34), '&q;')}</script>",
    "markdown": f"<script type=text/markdown># Ferry\n\n{LONG_TEXT}</script>",
    "template of a script": f"<script type=text/x-template><div><p>{LONG_TEXT}</p></div></script>",
    "attribute": f"<x-page props='{json.dumps(STATE)}'></x-page>",
    "quoted attribute": f"<div data-page='{json.dumps(STATE).replace(chr(34), '&quot;')}'></div>".replace(
        "'", '"'
    ),
    "template": f"<template id=page><p>{LONG_TEXT}</template>",
    "noscript": f"<noscript><p>{LONG_TEXT}</p></noscript>",
    "the notice in noscript, too": f"<noscript>{NOTICE}</noscript><script>rows={json.dumps(STATE)}</script>",
    "short attributes": "".join(
        f"<x-text props='{json.dumps([text])}'></x-text>" for text in PARAGRAPHS * 2
    ),
    "textarea": f"<textarea hidden>{json.dumps(STATE)}</textarea>",
    "in a URL's escapes": f"<script>JSON.parse(decodeURIComponent('{quote(json.dumps(STATE))}'))</script>",
    "Markdown in xmp": f"<xmp style='display:none'># Ferry\n\n{LONG_TEXT}</xmp>",
    "Markdown in a textarea": f"<textarea hidden># Ferry\n\n{LONG_TEXT}</textarea>",
}


@pytest.mark.parametrize("script", DATA.values(), ids=DATA)
@pytest.mark.parametrize("extractor", ["readability", "segments"])
def test_a_notice_beside_data_is_no_content(script, extractor):
    html = f"{NOTICE}{script}<script>{CODE}</script>"
    page = Detector(Scheme(extractor=extractor)).fingerprint_page(html)
    assert (page.skipped, page.fingerprint) == ("script_data", None)


TEXTS = {
    "none": NOTICE,
    "code": f"{NOTICE}<script>{CODE}</script>",
    "small": f"{NOTICE}<script>{json.dumps({'id': 7, 'lang': 'en'})}</script>",
    "names": f"{NOTICE}<script>{json.dumps({'theme': ['a-b'] * 90})}</script>",
    "long text": f"{'<p>'.join(PARAGRAPHS * 2)}<script>{json.dumps(CHINESE * 3)}</script>",
    "shown": f"<p>{PARAGRAPHS[0]}<p>{PARAGRAPHS[1]}<script>{json.dumps(STATE)}</script>",
    "shown Chinese": f"<p>{CHINESE[:300]}<script>{json.dumps([CHINESE, *PARAGRAPHS])}</script>",
    "hidden": f"{NOTICE}<p hidden>{json.dumps(STATE)}</p>",
    "empty": f"<script>{json.dumps(STATE)}</script>",
    "translations": f"{NOTICE}<script>t({json.dumps({text: text[::-1] for text in PARAGRAPHS * 9})})</script>",
    "drawings": f"{NOTICE}<script>i={json.dumps(['M1.5 2.5l3.5-4.5c1 2 3 4 5 6z' * 9] * 20)}</script>",
    "packed code": f"{NOTICE}<script>i={json.dumps(['a(5.b=6.$(c);7(5==k))'] * 200)}</script>",
    "addresses": f"{NOTICE}<script>i={json.dumps(['https://a.example/picture/7.png'] * 200)}</script>",
    "settings": f"{NOTICE}<script>i={json.dumps({f'is-set-{n}': True for n in range(300)})}</script>",
    "attributes": f"{NOTICE}<div style='{'color: red;' * 99}' data-d='{'M1.5 2.5 3.5' * 99}'></div>",
    "labels": f"{NOTICE}<template>{'<p>Close</p>' * 300}</template>",
    "small code": (NOTICE + f"<script>{CODE[:300]}</script>" * 20),
}


@pytest.mark.parametrize("html", TEXTS.values(), ids=TEXTS)
def test_other_pages_have_their_text(html):
    assert not extract(html).is_notice


@pytest.mark.parametrize("extractor", ["readability", "segments"])
def test_a_notice_beside_a_declared_text(extractor):
    steps = [{"@type": "HowToStep", "text": text} for text in PARAGRAPHS]
    thing = {
        "@graph": [
            {"@type": "Organization", "description": " ".join(PARAGRAPHS * 9)},
            {
                "@type": "Recipe",
                "name": "Soup &amp; bread",
                "image": "a.png",
                "steps": steps,
                "review": [{"reviewBody": "So so"}],
                "author": {"@type": "Person", "name": "I A"},
            },
        ]
    }
    html = f"{NOTICE}<script type=application/ld+json>{json.dumps(thing)}</script>"
    found = extract(f"{html}<script>data={json.dumps(STATE)}</script>", extractor)
    assert found.way == "declared"
    assert found.text.split("\n") == ["Soup & bread", *PARAGRAPHS]
    assert not found.is_notice


def test_the_text_counts_that_was_extracted():
    # An unclosed `nav` leaves no content to `segments`.
    html = f"<p>Shop</p><nav>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS * 3)}"
    found = extract(f"{html}<script>{json.dumps([CHINESE] * 9)}</script>", "readability-only")
    assert len(found.text) > 999
    assert not found.is_notice


def test_what_selectors_select_is_the_content():
    html = f"<div id=a>{NOTICE}</div><script>{json.dumps(STATE)}</script>"
    assert not extract(html, selectors=Selectors(select=("#a",))).is_notice


@pytest.mark.parametrize("text", ['"', "'", "`", '\\"', "\\", "\\u00", '"a', "' `", '" " \\" '])
def test_any_script_takes_linear_time(text):
    def taken_s(characters):
        html = f"{NOTICE}<script>{text * (characters // len(text))}</script>"
        started = time.thread_time()
        extract(html, "segments")
        return time.thread_time() - started

    # Of twice the length, quadratic time would be four times as long.
    assert taken_s(200_000) < 3 * taken_s(100_000) + 0.1
