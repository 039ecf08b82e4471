"""The page of a report, read as HTML: what it says, and what hostile text cannot do to it."""

import subprocess
import sys
from base64 import b64encode
from hashlib import sha256

import lxml.html
import pytest

from scrapy_simhash.extras.passages.page import MAX_BARS, bars, render_page
from scrapy_simhash.extras.passages.result import CheckedPassage, Source, summed_up
from tests.extras.passages.article import GUIDE, LEAFLET, article

HOSTILE = "</mark></p><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}\"'&amp;<!--"


def source(document="a.txt", similarity=0.95, text="", start=5):
    return Source(
        document=document, start=start, end=start + 10, similarity=similarity, distance=2, text=text
    )


def report_of(*words, document="text.txt", mode="exact", verified=True, separator=" ", start=0):
    """Of passages one after another: a text alone, or (text, level, sources…)."""
    text, passages = " " * start, []
    for given in words:
        shown, level, *sources = (given, "none") if isinstance(given, str) else given
        text += separator if passages else ""
        passages.append(
            CheckedPassage(
                start=len(text),
                end=len(text) + len(shown),
                text=shown,
                level=level,
                sources=tuple(sources),
                documents=len(sources),
            )
        )
        text += shown
    return summed_up(document, text, passages, mode=mode, verified=verified)


def parsed(report, text=""):
    page = render_page(report, text)
    page.encode("utf-8")
    return lxml.html.document_fromstring(page)


def said(element):
    return " ".join(element.text_content().split())


def words(tree):
    """The text in the page, without the numbers of its passages."""
    rows = []
    for paragraph in tree.cssselect(".words"):
        for number in paragraph.cssselect("a"):
            number.drop_tree()
        rows.append(paragraph.text_content())
    return rows


def passage(tree, number):
    return tree.get_element_by_id(f"p{number}")


def test_levels_are_marked_and_what_stands_nowhere_else_is_not():
    tree = parsed(
        report_of(
            "Alone.",
            ("Much the same.", "high", source()),
            ("Alike.", "medium", source(similarity=0.8)),
            ("All rights reserved.", "common"),
        )
    )
    assert passage(tree, 1).tag == "span"
    assert [passage(tree, n).tag for n in (2, 3, 4)] == ["mark"] * 3
    assert [passage(tree, n).get("class") for n in (2, 3, 4)] == ["high", "medium", "common"]
    assert [li.get("class") for li in tree.cssselect(".notes > li")] == ["high", "medium", "common"]
    # Not by colour alone, and by keyboard: each mark has a link that says what it is.
    names = [link.get("aria-label") for link in tree.cssselect("mark a")]
    assert names == [
        "Passage 2, high, 95\N{NO-BREAK SPACE}%: to its sources",
        "Passage 3, medium, 80\N{NO-BREAK SPACE}%: to its sources",
        "Passage 4, common: to its sources",
    ]


def test_sources_stand_beside_with_name_place_similarity_and_text():
    tree = parsed(*article())
    note = tree.get_element_by_id("s3")
    assert "High · 96 %" in said(note)
    assert "in 2 documents" in said(note)
    assert note.cssselect(".name a")[0].get("href") == GUIDE
    assert "Text at 1,204–1,317" in said(note)
    assert note.cssselect("details blockquote")[0].text_content().startswith("Many take it")
    row = passage(tree, 3).getparent().getparent()
    assert note in row.cssselect(".notes > li")
    assert LEAFLET in said(tree.get_element_by_id("s6"))


def test_five_sources_of_a_passage_are_shown_at_most():
    sources = [source(f"document-{number}", 0.99 - number / 100) for number in range(8)]
    tree = parsed(report_of(("Everywhere.", "high", *sources), mode="fast"))
    (note,) = tree.cssselect(".notes > li")
    assert [said(name).split(" · ")[-1] for name in note.cssselect(".name")] == [
        f"document-{number}" for number in range(5)
    ]
    assert "in 8 documents or more" in said(note)
    assert note.cssselect("blockquote") == []
    assert "At 5–15" in said(note)


def test_summary_says_how_much_and_how_it_was_checked():
    summary = said(parsed(*article()).get_element_by_id("summary"))
    report, _ = article()
    assert f"{report.known_share * 100:.1f} %" in summary
    assert f"{report.common_share * 100:.1f} %" in summary
    assert f"of {len(report.passages)} passages found elsewhere" in summary
    assert "computed from the texts: 1" in summary
    assert "Mode: exact" in summary
    short = [div for div in parsed(*article()).cssselect(".sums div") if "short" in said(div)]
    assert said(short[0].cssselect("dd")[0]) == "1"
    fast = said(parsed(report_of("A.", mode="fast", verified=False)).get_element_by_id("summary"))
    assert "estimated from fingerprints" in fast
    assert "Mode: fast" in fast


def test_sources_are_listed_the_largest_first():
    many = [(f"Passage {n}. " * (20 - n), "high", source(f"s{n}")) for n in range(14)]
    report = report_of(*many)
    rows = parsed(report).cssselect("#sources tbody tr")
    assert [said(row.cssselect("th")[0]) for row in rows] == [s.document for s in report.sources]
    assert [said(row.cssselect("th")[0]) for row in rows[:2]] == ["s0", "s1"]
    assert said(rows[0].cssselect("td")[1]) == f"{report.sources[0].share * 100:.1f} %"
    assert len(parsed(report).cssselect("#sources details tbody tr")) == 4


def test_similarity_is_never_rounded_up():
    report = report_of(("Nearly.", "high", source(similarity=0.9999)), ("Small.", "none"))
    assert "· 99 %" in said(parsed(report).get_element_by_id("s1"))
    assert "100" not in said(parsed(report).get_element_by_id("s1"))


@pytest.mark.parametrize("field", ["text", "name", "source", "source text"])
def test_hostile_text_is_shown_and_nothing_more(field):
    given = {name: HOSTILE if name == field else "plain" for name in ("text", "name", "source")}
    there = source(given["source"], text=HOSTILE if field == "source text" else "there")
    plain = parsed(report_of((given["text"], "high", there), document=given["name"]))
    assert plain.cssselect("script, img") == []
    assert {e.tag for e in plain.iter() if e.attrib.has_key("onerror")} == set()
    assert HOSTILE in plain.text_content()
    # Escaping left the page itself as it is for harmless text.
    given = {**given, "text": "x" * len(given["text"])}
    calm = parsed(report_of((given["text"], "high", source("plain", text="x")), document="plain"))
    assert [e.tag for e in plain.iter()] == [e.tag for e in calm.iter()]


def test_only_web_addresses_become_links():
    linked = ["https://example.org/?a=1&b='2'", "HTTP://EXAMPLE.ORG/"]
    unlinked = [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)//https://example.org/",
        "java\nscript:alert(1)",
        " https://example.org/",
        "https://example.org/ b",
        "https://example.org/\ud800",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//example.org/",
        "https://",
        "",
    ]
    for name in (*linked, *unlinked):
        tree = parsed(report_of(("Somewhere.", "high", source(name)), document=name))
        outward = [a for a in tree.cssselect("a") if not a.get("href").startswith("#")]
        assert {a.get("href") for a in outward} == ({name} if name in linked else set())
        assert all(a.get("rel") == "noopener noreferrer" for a in outward)
        assert all(
            a.get("href")[1:] in tree.xpath("//@id")
            for a in set(tree.cssselect("a")) - set(outward)
        )


def test_the_page_allows_its_own_style_and_nothing_else():
    page = render_page(*article())
    tree = lxml.html.document_fromstring(page)
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    (style,) = tree.xpath("//style/text()")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "url(" not in style
    assert "@import" not in style
    assert tree.xpath("//script | //link | //img | //iframe | //object | //embed | //form") == []
    assert tree.xpath("//@src | //@style | //@srcset | //@onclick") == []


def test_there_are_headings_landmarks_and_a_language():
    tree = parsed(*article())
    assert tree.get("lang") == "en"
    assert len(tree.cssselect("h1")) == len(tree.cssselect("main")) == 1
    assert [said(h) for h in tree.cssselect("h2")] == [
        "Summary",
        "Sources",
        "Similarity over the text",
        "Text",
    ]
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert set(" ".join(tree.xpath("//@aria-labelledby")).split()) <= set(ids)
    assert "the-night-boat" in tree.findtext(".//title")


def test_each_passage_that_stands_elsewhere_has_a_bar_that_leads_to_it():
    report, text = article()
    tree = parsed(report, text)
    found = [n for n, p in enumerate(report.passages, 1) if p.level != "none"]
    links = tree.cssselect("#chart a.bar")
    assert [link.get("href") for link in links] == [f"#p{n}" for n in found]
    scale = 900 / report.characters
    for link, number in zip(links, found, strict=True):
        shown = report.passages[number - 1]
        (rect,) = link.cssselect("rect")
        assert link.get("class") == f"bar {shown.level}"
        assert float(rect.get("x")) == pytest.approx(52 + shown.start * scale, abs=0.01)
        width = (shown.end - shown.start) * scale
        assert float(rect.get("width")) == pytest.approx(width, abs=0.01)
        assert float(rect.get("height")) == pytest.approx(shown.similarity * 140, abs=0.1)
    assert tree.get_element_by_id("chart-title").text == "Similarity over the text"
    description = tree.get_element_by_id("chart-description").text
    assert f"{len(found)} bars" in description
    assert "0 % to 100 %" in description


@pytest.mark.thorough
def test_bars_of_thousands_of_passages_are_binned_to_the_highest():
    count = 5000
    levels = [("none",), ("medium", source(similarity=0.8)), ("high", source(similarity=0.92))]
    given = [(f"Passage number {n:04}.", *levels[n % 3]) for n in range(count)]
    given[1234] = ("Passage number 1234.", "high", source(similarity=1.0))
    report = report_of(*given)
    shown = bars(report)
    assert len(shown) == MAX_BARS
    width = report.characters / MAX_BARS
    for bar in shown:
        inside = [p.similarity for p in report.passages if p.start < bar.end and p.end > bar.start]
        assert bar.similarity == max(inside)
        assert bar.end - bar.start == pytest.approx(width)
        linked = report.passages[bar.number - 1]
        assert linked.similarity == bar.similarity
        assert linked.start < bar.end
        assert linked.end > bar.start
    assert 1235 in {bar.number for bar in shown}
    tree = parsed(report)
    assert len(tree.cssselect("#chart a.bar")) == MAX_BARS
    assert len(tree.cssselect("[id^=p]")) == count


def test_a_common_passage_without_sources_has_a_bar_that_can_be_seen():
    (rect,) = parsed(report_of(("Imprint.", "common"))).cssselect("#chart a.bar rect")
    assert float(rect.get("height")) > 0


def test_text_keeps_its_order_and_its_paragraphs():
    report, text = article()
    tree = parsed(report, text)
    assert "\n".join(words(tree)) == text
    assert tree.cssselect(".joined") == []


def test_white_space_is_guessed_without_the_text():
    assert words(parsed(report_of("One.", "Two."))) == ["One. Two."]
    assert words(parsed(report_of("One.", "Two.", separator=""))) == ["One.Two."]
    assert words(parsed(report_of("One.", "Two.", separator="\n\n"))) == ["One.", "Two."]
    assert words(parsed(report_of("One.", "Two.", separator="\n"))) == ["One. Two."]
    assert words(parsed(report_of("One.", "Two.", separator="\n"), "One.\nTwo.")) == [
        "One.",
        "Two.",
    ]
    # Another text than the one that was checked says nothing.
    assert words(parsed(report_of("One.", "Two."), "Something else.")) == ["One. Two."]


def test_a_long_paragraph_is_cut_in_rows_that_belong_together():
    hit = ("A sentence that appears elsewhere.", "high", source())
    lead = ["Words of our own, and many of them, as they come."] * 9
    tree = parsed(report_of(*lead, *[hit] * 7))
    rows = tree.cssselect(".row")
    assert [len(row.cssselect("mark")) for row in rows] == [0, 3, 3, 1]
    assert ["joined" in row.get("class") for row in rows] == [False, True, True, True]
    assert [len(row.cssselect(".notes > li")) for row in rows] == [0, 3, 3, 1]


def test_overlapping_passages_are_rows_of_their_own():
    text = "abcdefghijklmnopqrst"
    passages = [
        CheckedPassage(
            start=at,
            end=at + 8,
            text=text[at : at + 8],
            level="high" if at == 4 else "none",
            sources=(source(),) if at == 4 else (),
        )
        for at in (0, 4, 8, 12)
    ]
    report = summed_up("text.txt", text, passages, mode="exact", verified=True)
    for tree in (parsed(report), parsed(report, text)):
        assert words(tree) == ["abcdefgh", "efghijkl", "ijklmnop", "mnopqrst"]


def test_an_empty_report_is_a_page_too():
    tree = parsed(summed_up("", "", [], mode="fast", verified=False))
    assert "The text has no passages." in said(tree.get_element_by_id("text"))
    assert "No document has a passage" in said(tree.get_element_by_id("sources"))
    assert tree.cssselect("#chart a.bar") == []
    assert "(no name)" in tree.findtext(".//title")


def test_any_characters_can_be_written_as_utf_8():
    strange = "clef \U0001d11e, emoji \U0001f6a2, half \ud83d, nul \0, escape \x1b, last \uffff"
    readable = (
        "clef \U0001d11e, emoji \U0001f6a2, half \ufffd, nul \ufffd, escape \ufffd, last \ufffd"
    )
    report = report_of((strange, "high", source(strange, text=strange)), document=strange)
    tree = parsed(report)
    assert words(tree) == [readable]
    assert tree.cssselect("blockquote")[0].text == readable
    # Names show what cannot be seen, such as what turns the direction of writing.
    turned = parsed(report_of("Text.", document="evil\u202efdp.exe"))
    assert "evil\\u202efdp.exe" in turned.findtext(".//title")


def test_jinja_is_imported_when_a_page_is_made():
    code = (
        "import sys, scrapy_simhash.extras.passages.page as page\n"
        "assert not {'jinja2', 'markupsafe'} & set(sys.modules)\n"
        "from scrapy_simhash.extras.passages.result import summed_up\n"
        "page.render_page(summed_up('a', '', [], mode='fast', verified=False))\n"
        "assert 'jinja2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
