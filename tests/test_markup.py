"""Bodies that are HTML or not, and texts that are markup or not."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import Detector
from scrapy_simhash.extraction import plain_text
from scrapy_simhash.markup import begins_as_html, is_html, is_markup, kind_of
from scrapy_simhash.scheme import PRESETS

PROSE = "The keeper of the lighthouse paints it every spring, and counts the ships. "

HTML = {
    "empty": "",
    "blank": " \r\n",
    "doctype": f"<!DOCTYPE html><title>x</title>{PROSE}",
    "comments before": f"<!-- a <b> -->\n<!-- [1] --><div>{PROSE}</div>",
    "byte order mark": f"\ufeff<html>{PROSE}",
    "XHTML": f'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "a" "b">\n<html xmlns="c">{PROSE}</html>',
    "XHTML without doctype": f'<?xml version="1.0"?><?xml-stylesheet href="a"?><html><p>{PROSE}',
    "XHTML fragment": f'<div xmlns="http://www.w3.org/1999/xhtml"><p>{PROSE}</p></div>',
    "icon with a namespace first": f'<svg xmlns="a"><path/></svg><p>{PROSE}</p><p>{PROSE}</p>',
    "prefixed": f'<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:p>{PROSE}</h:p></h:html>',
    "fragment": f'<div class="view"><h3>Ladder</h3><p>{PROSE}</p></div>',
    "fragment of XML": f'<?xml version="1.0"?><div><p>{PROSE}</p></div>',
    "paragraphs without ends": f"<p>{PROSE}<p>{PROSE}",
    "list without ends": f"<li>{PROSE}<li>{PROSE}",
    "upper case": f"<FONT SIZE=2>{PROSE}</FONT>",
    "text first": f"{PROSE}<b>Beware</b> of the <i>dog</i>.",
    "text and breaks": f"{PROSE}<br>{PROSE}<br/>{PROSE}",
    "notice first": f"Warning: include(x) failed in /a on line 3\n<!DOCTYPE html><p>{PROSE}</p>",
    "notices first": f"Warning: x\n\nNotice: y\nNotice: z\n<html><p>{PROSE}\n</html>",
    "output of a program first": f"{{'a': 1}}\n<!DOCTYPE HTML><p>{PROSE}\n</html>",
    "comment of a script first": f"// built at noon\n<html><p>{PROSE}</p></html>\n",
    "quotation first": f'"It leaks", said <b>he</b>. {PROSE}"No"',
    "footnote first": '[1] See <a href="x">there</a> (p. 3)',
    "template first": f"{{{{ title }}}} <div>{PROSE}</div>",
    "end tag first": f"</div><div><p>{PROSE}</p></div>",
    "server tag first": f"<%@ page %><html><p>{PROSE}</html>",
    "conditional comment": f"<![if !IE]><p>{PROSE}</p><![endif]>",
    "icon first": f"<svg><path/><g/><circle/><use/></svg><p>{PROSE}</p>",
    "own element": f"<my-app><h1>Ladder</h1><p>{PROSE}</p></my-app>",
    "office": f"<p class=MsoNormal><o:p>{PROSE}</o:p><st1:place>x</st1:place></p>",
    "frames": "<frameset cols='1,2'><frame src=a></frameset>",
    "bookmarks": "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF='a'>b</A></DL>",
    "zeros of UTF-16": "<\0h\0t\0m\0l\0>\0a",
}
MARKED = f"<div><p>{PROSE}</p></div>"
OTHER = {
    "JSON": json.dumps({"id": 1, "html": MARKED}),
    "JSON list": json.dumps([{"html": MARKED}]),
    "list of texts": json.dumps([MARKED, MARKED]),
    "list of numbers": "[1, 2.5, -3]",
    "JSON text": json.dumps(MARKED),
    "JSON lines": f'{{"a": "{MARKED}"}}\n{{"a": "{MARKED}"}}\n',
    "cut off JSON": json.dumps({"html": MARKED})[:40],
    "JSON after a comment": f"<!-- from cache -->{json.dumps({'a': MARKED})}",
    "JSON before a comment": f"{json.dumps({'a': MARKED})}\n<!-- 0.03 s -->",
    "JSON after a notice": f"Notice: x on line 3\n{json.dumps({'a': MARKED})}",
    "JSON after a marked notice": f"<br />\n<b>Notice</b>: x<br />\n{json.dumps({'a': MARKED})}",
    "guarded JSON": f")]}}',\n{json.dumps({'a': MARKED})}",
    "JSONP": f"callback_7({json.dumps({'a': MARKED})});",
    "JSONP of a library": f"/**/ns.jq[1]({json.dumps({'a': MARKED})})",
    "object of a script": f"{{html: '{MARKED}'}}",
    "script": f'var a = "{MARKED}";\nshow(a);',
    "function": f'(function () {{ document.write("{MARKED}"); }})();',
    "minified": f'!function(e){{e.innerHTML="{MARKED}"}}(x)',
    "call": f'document.write("{MARKED}")',
    "licensed script": f'/*! v1 */ $("{MARKED}")',
    "strict script": f'"use strict";\nx = "{MARKED}"',
    "assignment": f'window.data = {{"a": "{MARKED}"}};',
    "style": "/* <b>x</b> */ a { color: red }",
    "CSV": f'id,name,html\n1,a,"{MARKED}"\n2,b,"{MARKED}"\n',
    "two columns": f'id;html\r\n1;"{MARKED}"\r\n2;"{MARKED}"\r\n',
    "tabs": f"a\tb\tc\n1\t2\t{MARKED}\n",
    "calendar": f"BEGIN:VCALENDAR\nDESCRIPTION:{MARKED}\nEND:VCALENDAR",
    "RSS": f"<rss version='2.0'><channel><description><![CDATA[{MARKED * 9}]]></description></channel>",
    "Atom": f"<feed xmlns='a'><title>x</title><content>{MARKED * 9}</content></feed>",
    "sitemap": '<?xml version="1.0"?><urlset><url><loc>x</loc></url></urlset>',
    "XML whose root HTML has, too": '<?xml version="1.0"?><menu><dish><price>1</price></dish></menu>',
    "XML without declaration": f"<answer><title>x</title>{MARKED}</answer>",
    "SOAP": f"<s:Envelope xmlns:s='a'><s:Body>{MARKED}</s:Body></s:Envelope>",
    "SVG": '<svg viewBox="0 0 1 1"><title>x</title><path d="M0"/></svg>',
    "SVG with doctype": '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "a" "b"><svg><g/></svg>',
    "XML with elements of HTML": f'<article xmlns="a"><title>x</title><p>{PROSE}</p></article>',
    "PDF": f"%PDF-1.7\n{chr(1) * 99} {MARKED}",
    "source with an end": f'<?php echo "{MARKED}"; ?>',
    "source with a page": f"\n<?php go(); ?><!doctype html><html><p>{MARKED}</p></html>",
    "XML in a browser": (
        '<html xmlns="a"><head><style>b {c: d}</style></head><body>'
        f'<div id="webkit-xml-viewer-source-xml"><dish>{PROSE}</dish></div></body></html>'
    ),
    "source of Jinja": f'{{% extends "base.html" %}}\n{{% block a %}}{MARKED}{{% endblock %}}',
    "source of Jinja after a mark": f"\ufeff\n{{% block a %}}{MARKED}{{% endblock %}}",
    "source of Jinja after a comment": f"{{# a page #}}\n<html><p>{MARKED}</html>",
    "source of Handlebars": f"{{{{#each a}}}}{MARKED}{{{{/each}}}}",
    "source": f'<?php echo "{MARKED}"; $a->b();',
    "JSON in a browser": '<html><head></head><body><pre style="x">{"a": 1}</pre></body></html>',
}
PLAIN = {
    "prose": PROSE,
    "elements": f"The <video> element, unlike <audio>, is visible. {PROSE}",
    "element first": f"<canvas> is an element for drawing. {PROSE}",
    "types": "Map<Object, List<Label>> and Option<T>",
    "keys": f"Press <Esc>, then <Enter>. {PROSE}",
    "comparison": "1 < 2 and 3 > 2",
    "break": "The <br> element breaks a line",
}
# They contain markup, but are no pages.
WITH_MARKUP = {
    "log": f"12:00 GET /\n12:01 GET /?q=<b>x</b>\n12:02 {PROSE}",
    "settings": f"[a]\nb = 1\nc = {MARKED}",
    "subtitles": "1\n00:01 --> 00:02\n<i>Ho!</i>\n\n2\n00:03 --> 00:04\n<b>Hey!</b>",
    "letter": f"From: a@b.example\nSubject: x\n\n{MARKED}",
    "stream of events": f'event: x\ndata: {{"a": "{MARKED}"}}\n\nevent: y\ndata: 1',
    "guarded call": f'if (cb) {{ cb({{"a": "{MARKED}"}}); }}',
    "pieces of JSON": f'9\n[["a","{MARKED}"]]\n8\n[["b","{MARKED}"]]',
    "page in a block of YAML": f"title: x\ntext: y\nhtml: |\n  <html>{MARKED}\n  </html>",
    "program": f"def show():\n    return '{MARKED}'\n",
}


KINDS = {"html": HTML, "other": OTHER, "text": {**PLAIN, **WITH_MARKUP}}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, bodies in KINDS.items() for name in bodies]
)
def test_the_kind_of_a_body(kind, name):
    assert kind_of(KINDS[kind][name]) == kind
    assert name not in PLAIN or not is_markup(PLAIN[name])


@pytest.mark.parametrize("body", [*OTHER.values(), *KINDS["text"].values()])
def test_a_detector_judges_no_other_bodies(body):
    detector = Detector(PRESETS["wide"].scheme, min_tokens=1)
    assert detector.fingerprint_page(body).skipped == "not_html"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(MARKED),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
)


@given(VALUES.filter(lambda value: isinstance(value, (list, dict))), st.sampled_from([None, 2]))
def test_no_json_is_html(value, indent):
    assert not is_html(json.dumps(value, ensure_ascii=False, indent=indent))


TEXTS = st.text("abc <>/&;!-[]'\"=\n", max_size=60) | st.sampled_from(
    ["<p>", "</p>", "<video>", "<String>", "<b>", "</b>", "<!--", "<![CDATA[", "&lt;", "<script>"]
)


@given(st.lists(TEXTS).map("".join))
def test_any_text_is_of_some_kind(text):
    assert kind_of(text) in ("html", "text", "other")
    assert begins_as_html(text) in (True, False)
    plain_text(text)


WORDS = st.lists(st.sampled_from("oak ash elm yew".split()), min_size=1, max_size=5).map(" ".join)
UNCLOSED = "video script style title textarea iframe object svg select noscript String Esc T"


@given(WORDS, st.sampled_from(UNCLOSED.split()), WORDS, st.booleans())
def test_nothing_is_swallowed_by_an_unclosed_tag(before, name, after, marked):
    text = f"{before} <{name}> {after}"
    if marked:
        text = f"<div>{text}</div>"
    visible = plain_text(text)
    assert visible.split() == [*before.split(), f"<{name}>", *after.split()]


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<p>One</p><p>two</p>", "One\ntwo"),
        ("<p>One<p>two", "One\ntwo"),
        ("One<br>two<br />three", "One\ntwo\nthree"),
        ("<a href='x'>cut off", "cut off"),
        ("<p>a<script>b()</script> c</p>", "a c"),
        ("<![CDATA[<p>a &amp; b</p>]]>", "a & b"),
        ("<p>if a <b then</p> c", "if a <b then\nc"),
        ("<p>a</p> <!-- and no end", "a\n<!-- and no end"),
        ("a &amp; b &lt;i&gt; &#233;", "a & b <i> é"),
        ("<p>a &amp; b &lt;i&gt; &#233;</p>", "a & b <i> é"),
        ("/?a=1&copy=2", "/?a=1&copy=2"),
        ('<input type="checkbox">', '<input type="checkbox">'),
        ("Use <script> here, and </script> there", "Use <script> here, and </script> there"),
        ("<p> is a paragraph", "<p> is a paragraph"),
        ("<br>: a break", "<br>: a break"),
        ("<p> One <p> Two", "One\nTwo"),
        ("Use `<style>` and `</style>`", "Use `<style>` and `</style>`"),
        ("`<b>` <i>and</i> `</b>`", "`<b>` and `</b>`"),
        ("<i>See</i>\n```\n<script>\n\na()</script>\n```", "See ``` <script> a()</script> ```"),
        ("<script> is last, </script> ends it", "<script> is last, </script> ends it"),
        ("<i>So</i> <video> plays. </video>", "So <video> plays. </video>"),
        ("<video><p>a</p></video><p>b</p>", "b"),
        ("<p>a</p><script>var visit = 8374</script><p>b</p>", "a\nb"),
        ("<p>Shoe</p>\n<noscript>Please enable it.</noscript>", "Shoe"),
        ("Al <a@b.example> <b>to</b> Bo <b@c.example>", "Al <a@b.example> to Bo <b@c.example>"),
        (
            "<p>At <https://a.example/?b> or <tel:+1/2></p>",
            "At <https://a.example/?b> or <tel:+1/2>",
        ),
        ("<style>a { b: c }</style>Use this", "Use this"),
        ("Use <b>this</b> <script>a()</script>", "Use this"),
        ("<br>", "<br>"),
        ("<p></p>", ""),
        ("<my-icon></my-icon><p>a <x-b>b</x-b></p>", "a b"),
    ],
)
def test_what_a_reader_sees_of_a_text(text, visible):
    assert plain_text(text) == visible


@pytest.mark.parametrize(
    "body",
    ["<!doctype " + "a" * 200_000, "<?a>" * 50_000, "<?a> <!---->" * 20_000, "<!---->" * 50_000],
    ids=lambda body: body[:20],
)
def test_any_prolog_takes_linear_time(body):
    started = time.process_time()
    kind_of(body)
    assert time.process_time() - started < 2
