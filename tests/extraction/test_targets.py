"""Where the links of a page lead, cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction import extract
from scrapy_simhash.extraction.targets import pieces_of
from tests.samples import PARAGRAPHS


@pytest.mark.parametrize(
    ("target", "pieces"),
    [
        ("/boats/7.html", ["boats", "7"]),
        ("7.php", ["7"]),
        ("../boats/7", ["boats", "7"]),
        ("./7", ["7"]),
        ("https://a.example:80/boats/7", ["boats", "7"]),
        ("//a.example/boats/7", ["boats", "7"]),
        ("HTTP://A.example/Boats/7#top", ["boats", "7"]),
        ("?id=7&page=2", ["id=7", "page=2"]),
        ("view.php?id=7;page=2", ["view", "id=7", "page=2"]),
        ("view.php%3Fid=7.html", ["view", "id=7"]),
        ("/a;jsessionid=1F2E", ["a", "jsessionid=1f2e"]),
        ("#/boats/7", ["boats", "7"]),
        ("/app#!boats/7", ["app", "!boats", "7"]),
        ("javascript:show('boats', 7)", ["boats", "7"]),
        ('javascript:location="/boats/7"', ["boats", "7"]),
        ("javascript:void(0)", ["0"]),
        ("#top", []),
        ("/", []),
        ("https://a.example", []),
        ("https://a.example/?", []),
        ("mailto:a@b.example", []),
        ("tel:+1-2", []),
        ("data:text/plain,a/b", []),
        ("", []),
    ],
)
def test_pieces(target, pieces):
    assert list(pieces_of(target)) == pieces


@given(st.text())
def test_any_target_has_pieces_or_none(target):
    assert all(pieces_of(target))


def cases(first, count=20, form="<li><a href='{url}'>Case {n} of Hill</a>"):
    """Return a list of links to as many cases, the first one with a number."""
    return "".join(form.format(url=f"/case/{n}", n=n) for n in range(first, first + count))


def test_a_listing_leads_to_its_entries_and_not_to_its_chrome():
    page = (
        "<nav><a href=/news/1>News of the court and the town</a></nav><h1>Cases</h1>"
        f"<p>{PARAGRAPHS[0]}</p><ul>{cases(100)}</ul><p><a href=/help>Help</a></p>"
        "<select><option><a href=/year/1>Years before the last year</a></select>"
    )
    targets = extract(page).targets
    assert targets == {"case": 4, **{str(n): 4 for n in range(100, 120)}, "help": 1}


@pytest.mark.parametrize(
    ("form", "weight"),
    [
        ("<p><a href='{url}'>{n}</a></p>", 1),
        ("<p><a href='{url}'>{n} is seven words long, no more</a></p>", 12),
        ("<p><a href='{url}'><img></a><a href='{url}a'><img></a><a href='{url}b'><img></a>", 4),
        ("<p><a href='{url}'><img></a> {n} is what the picture shows</p>", 4),
        ("<table><tr><td><a href='{url}'>{n}</a><td>1 May<td>Hill v. Dale</table>", 9),
        ("<table><tr><td><a href='{url}'>{n}</a><td><a href='{url}'>a b c d</a></table>", 6),
    ],
)
def test_a_target_weighs_its_words(form, weight):
    page = cases(100, 20, form) + cases(200, 20)
    assert extract(page, "segments").targets["107"] == weight


def test_the_links_of_an_article_say_less_than_its_text():
    page = f"<h1>News</h1><p>{'</p><p>'.join(PARAGRAPHS * 3)}</p><ul>{cases(100, 8)}</ul>"
    assert extract(page).targets == {}


@pytest.mark.parametrize(
    "form",
    [
        "<li><a href='{url}'>Case {n} of Hill</a>",
        "<div><h3><a href='{url}'>Case {n} of Hill</a></h3></div>",
        "<tr><td><a href='{url}'>Case {n} of Hill</a><td>1 May",
        "<a href='{url}'>Case {n} of Hill</a>, ",
        "<p><a href='{url}'>Case {n} of Hill</a><p>12,50 €<p><a href='{url}'>Add</a>",
        "<p><a href='{url}'>Case {n} of Hill</a><p>by <a href='{url}'>Ann</a> on 1 May",
        "<p><a href='{url}'>Case {n} of Hill against Dale</a><p>by <a href='{url}'>Ann Berg</a> at 7.30 on 1 May 2026, 12 replies",
        "<p>Page 1 of 9<p><a href='{url}'>Case {n} of Hill</a>",
    ],
)
def test_a_short_list_after_its_introduction_is_what_a_page_leads_to(form):
    links = cases(100, 3, form)
    items = f"<table>{links}</table>" if "<tr>" in form else f"<div>{links}</div>"
    page = f"<main><h1>Cases</h1><p>{' '.join(PARAGRAPHS[:2])}</p>%s{items}</main>"
    # What all targets share does not tell them apart.
    assert set(extract(page % "").targets) == {"100", "101", "102"}
    assert extract(page % "<h2>See also</h2>").targets == {}


@pytest.mark.parametrize(
    "row",
    [
        "<tr onclick=\"location.href='/case/{n}'\"><td>Case {n}<td>Hill v. Dale",
        "<tr onclick=\"show('case', {n})\"><td>Case {n}<td>Hill v. Dale",
        "<tr data-href='/case/{n}'><td>Case {n}<td>Hill v. Dale",
        "<tr><td data-url='/case/{n}'>Case {n}<td>Hill v. Dale",
        "<tr><td>Hill v. Dale<td><button formaction='/case/{n}'>Case {n}</button>",
        "<tr><td>Hill v. Dale<td><button onclick=\"open('/case/{n}')\">Case {n}</button>",
        "<tr><td>Hill v. Dale<td><a href='#' onclick=\"open('/case/{n}')\">Case {n}</a>",
        "<tr><td>Hill v. Dale<td><a data-link='/case/{n}'>Case {n}</a>",
        "<tr><td>Hill v. Dale<td><form action='/case/{n}'><button>Case {n}</button></form>",
    ],
)
def test_rows_and_buttons_lead_somewhere_without_href(row):
    page = f"<h1>Cases</h1><p>{PARAGRAPHS[0]}</p><table>{cases(100, form=row)}</table>"
    targets = extract(page, "segments").targets
    assert set(targets) == {"case", *map(str, range(100, 120))}


def test_hidden_values_of_a_form_are_a_target_but_for_tokens():
    row = (
        "<li>Hill v. Dale <form action=/case><input type=hidden name=id value={n}>"
        "<input type=hidden name=csrf value=0123456789abcdef0123456789abcdef{n}>"
        "<button>Case {n}</button></form>"
    )
    extraction = extract(f"<ul>{cases(100, form=row)}</ul>", "segments")
    assert set(extraction.targets) == {"case", *(f"id={n}" for n in range(100, 120))}
    assert "Case 119" in extraction.text


def test_a_form_that_asks_for_something_is_chrome():
    row = (
        "<li>Hill v. Dale, {n} <form action='/bid/{n}'><input name=bid><button>Bid</button></form>"
    )
    extraction = extract(f"<ul>{cases(100, form=row)}</ul>", "segments")
    assert "Bid" not in extraction.text
    assert extraction.targets == {}


def test_a_link_that_leads_somewhere_does_not_count_what_its_click_reports():
    row = "<li><a href='/case/{n}' onclick=\"report('left', {n}9)\">Case {n} of Hill</a>"
    targets = extract(f"<ul>{cases(100, form=row)}</ul>").targets
    assert set(targets) == {"case", *map(str, range(100, 120))}


def test_a_list_outside_the_element_with_the_heading_counts():
    words = " ".join(f"word{number}" for number in range(120))
    rows = "".join(
        f"<tr><td><a href='/case/{number}'>Olsen v. Berg {number}</a></td></tr>"
        for number in range(40)
    )
    page = f"<main><h1>Court</h1><p>{words}.</p></main><table>{rows}</table>"
    assert len(extract(page).targets) >= 40


def test_links_with_one_text_lead_to_the_entries_of_a_list():
    intro = f"<main><h1>Results</h1><p>{'</p><p>'.join(PARAGRAPHS * 2)}</p></main>"
    for form in (
        "<li><a href='{url}'>More</a>",
        "<div><a href='{url}'><img></a></div>",
        "<area href='{url}' alt=Hill>",
        "<p>Click to see <a href='{url}'>it</a></p>",
    ):
        for count, found in ((9, 0), (10, 11)):
            page = f"{intro}<ul>{cases(100, count, form)}</ul>"
            assert len(extract(page).targets) == found
            assert len(extract(f"{page}<footer>Help</footer>").targets) == found
        for count, found in ((2, 0), (3, 4)):  # beside a short text, fewer are many
            page = (
                f"<main><h1>Results</h1><p>A few of them.</p></main><ul>{cases(100, count, form)}"
            )
            assert len(extract(page).targets) == found


def test_pictures_are_entries_beside_other_lines_and_a_longer_menu():
    menu = "".join(f"<li><a href=/c/{n}>Topic</a>" for n in "abcdefghijklm")
    pictures = cases(100, 12, "<a href='{url}'><img></a>")
    for page_numbers in ("", "<p>Page 1 of 9</p>{}<ul><li><a href=?p=2>2</a></ul>"):
        content = f"<h1>Boats</h1><p>A few of them, seen from the quay.</p>{page_numbers or '{}'}"
        page = f"<ul>{menu}</ul><div>{content.format(pictures)}</div>"
        assert {"100", "111"} <= set(extract(page).targets)
    assert not {"a", "m"} & set(extract(page).targets)


@pytest.mark.parametrize(
    "form",
    [
        "<div>{menu}</div><div><h1>Boats</h1>{intro}{cases}</div><div>{others}</div>",
        "<table><tr><td>{menu}<td><h1>Boats</h1>{intro}{cases}<td>{others}</table>",
    ],
)
def test_a_list_below_the_heading_counts_without_a_longer_menu_beside_it(form):
    menu = cases(200, 60, "<p><a href='/topic/{n}'>Topic {n}</a>")
    others = cases(300, 6, "<p><a href='/boat/{n}'>Boat {n} at night</a>")
    entries = cases(100, 10, "<p><a href='{url}'>Case {n}, Hill</a>")
    page = form.format(menu=menu, intro=f"<p>{PARAGRAPHS[0]}", cases=entries, others=others)
    extraction = extract(page, "segments")
    assert set(extraction.targets) == {"case", *map(str, range(100, 110))}
    assert "Topic" not in extraction.text


def test_links_to_front_pages_lead_to_their_hosts():
    links = cases(100, 12, "<li><a href='https://www.firm-{n}.example/'>Website</a>")
    assert set(extract(f"<h1>Firms</h1><ul>{links}").targets) == {
        f"firm-{n}.example" for n in range(100, 112)
    }


def test_teasers_outside_the_element_with_an_article_do_not_count():
    rows = cases(100, 12, "<li><a href='{url}'>A teaser {n} of some words</a>")
    article = f"<div><h1>News</h1><p>{'</p><p>'.join(PARAGRAPHS * 2)}</p></div>"
    assert extract(f"{article}<ul>{rows}</ul>").targets == {}


FORM = "<form><select><option>Hill<option>Dale</select><button>Search</button></form>"


@pytest.mark.parametrize(
    "entry",
    ["<a href='{url}'><img></a>", "<p><a href='{url}'>Case {n} of Hill</a>"],
)
def test_a_form_may_stand_before_a_list(entry):
    lists = (f"<h1>Cases</h1><p>{PARAGRAPHS[0]}</p>{FORM}{cases(n, 5, entry)}" for n in (100, 200))
    one, other = (extract(page).targets for page in lists)
    assert len(set(one) - set(other)) == 5


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<a href=/files/b.zip?s=1>Download</a>", ("file", "b.zip")),
        ("<a href=tel:+12>Call</a>", ("file", "tel:+12")),
        ("<img srcset='/boat-1.jpg 1x, /boat-2.jpg 2x'>", ("image", "boat-1")),
        ("<a href=https://a.com>A firm</a><a href=/c.html>Its boats</a>", None),
        ("<nav><a href=/files/b.zip>Download</a></nav>", None),
        ("<a href='mailto:?subject=Films'>Share</a>", None),
    ],
)
def test_files_and_pictures_that_only_texts_which_are_equal_ask_for(html, found):
    page = f"<h1>Films</h1><p>{PARAGRAPHS[0]}</p><p>{html}</p>"
    assert extract(page).identities == ((found,) if found else ())


def embedded(html):
    found = extract(f"<h1>Films</h1><p>{PARAGRAPHS[0]}</p>{html}").identities
    return {value for kind, value in found if kind in ("embedded", "formula", "parameter")}


@pytest.mark.parametrize(
    "html",
    [
        "<iframe src=https://player.example/embed/{}></iframe>",
        "<iframe data-src='//player.example/embed/{}?rel=0'></iframe>",
        "<main><p><iframe src=/reports/{}.pdf></iframe></main>",
        "<iframe src='/viewer?file=/reports/{}.pdf'></iframe>",
        "<iframe src='/viewer?file=/reports/{}.pdf&page=1'></iframe>",
        "<iframe src='https://maps.example/maps?q={}&z=14&output=embed'></iframe>",
        "<object data=/reports/{}.pdf type=application/pdf>The report.</object>",
        "<object data=/games/{}.swf type=application/x-shockwave-flash></object>",
        "<embed src=/reports/{}.pdf>",
        "<video src=/films/{}.mp4></video>",
        "<video><source src=/films/{}.webm><source src=/films/low.webm></video>",
        "<figure><audio src=/songs/{}.mp3></audio></figure>",
        "<article><h1>Seals</h1><p>Text</p></article><iframe src=/reports/{}.pdf></iframe>",
        "<p>Solve <math><mi>{}</mi><mo>=</mo><mn>3</mn></math>.</p>",
        "<p>Solve <math alttext='{} = 3'></math>.</p>",
    ],
)
def test_embedded_documents_tell_pages_apart(html):
    one, other = (embedded(html.format(name)) for name in ("seals-1", "foxes-2"))
    assert one - {"low"}
    assert one & other <= {"low"}
    assert embedded(html.format("seals-1")) == one


def test_what_protects_a_visit_does_not_tell_documents_apart():
    html = "<iframe src='/play?film={}&autoplay=0&nonce={}&t={}'></iframe>"
    one, again, other = (
        embedded(html.format(*visit))
        for visit in (
            ("seals", "8a7f3c21de90b1c4", 1700000000),
            ("seals", "77b1c0ffee00d1ce", 1700000099),
            ("foxes", "8a7f3c21de90b1c4", 1700000000),
        )
    )
    assert one == again
    assert one.isdisjoint(other)
    only = "<iframe src='/play?id={}'></iframe>"
    assert embedded(only.format("8a7f3c21de90b1c4")) != embedded(only.format("77b1c0ffee00d1ce"))


@pytest.mark.parametrize(
    "html",
    [
        "<iframe></iframe><iframe src=about:blank></iframe><iframe src=/></iframe>",
        "<iframe src='data:text/html,<p>x1'></iframe><iframe srcdoc='<p>x1'></iframe>",
        "<noscript><iframe src=/count-1></iframe></noscript>",
        "<iframe src=/count-1 style='display: none'></iframe>",
        "<iframe src=/count-1 width=0 height=0></iframe>",
        "<footer><iframe src=/map-1></iframe></footer><aside><video src=/a1.mp4></video></aside>",
        "<main><p>Text</p></main><iframe src=/banner-1></iframe>",
        "<div class='box ad-slot'><div><iframe src=/count-1></iframe></div></div>",
        "<iframe src='//f.example/plugins/like.php?href=http://a.example/7&width=90'></iframe>",
        "<iframe src='//t.example/tweet_button.html#url=/7'></iframe>",
        "<picture><source src=/boat-1.webp></picture><img src=/boat-1.png>",
        "<svg class=icon><path d='M0 0' /></svg><svg><text>1</text></svg><math> </math>",
    ],
)
def test_what_is_no_embedded_document(html):
    assert embedded(html) == set()


def test_formulas_differ_by_where_their_parts_are():
    formulas = [f"<math><{tag}><mi>x</mi><mn>3</mn></{tag}></math>" for tag in ("msub", "msup")]
    one, other = map(embedded, formulas)
    assert one.isdisjoint(other)


def test_a_formula_is_the_same_however_it_is_written():
    formulas = (
        "<math><mi>x</mi><mo>=</mo><mn>3</mn></math>",
        "<math alttext='x=3'>\n <mrow><mi> x </mi>\n <mo>=</mo><mn>3</mn></mrow></math>",
        (
            "<math><semantics><mrow><mi>x</mi><mo>=</mo><mphantom><mn>7</mn></mphantom><mn>3</mn>"
            "</mrow><annotation>x=3</annotation></semantics></math>"
        ),
    )
    one, *others = map(embedded, formulas)
    assert others == [one, one]
    assert one


def test_a_document_is_the_same_in_another_player():
    names = ("https://a.example/embed/Ab1", "//b.example/e/ab1?rel=0", "/ab1#t=1", "/x/AB1?q=2")
    assert {name for url in names for name in embedded(f"<iframe src='{url}'></iframe>")} == {"ab1"}


def images(html):
    found = extract(f"<h1>Boats</h1><p>{PARAGRAPHS[0]}</p>{html}").identities
    return [value for kind, value in found if kind == "image"]


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("<img src=/i/red.jpg><figure><img src=/i/blue.png></figure>", ["red", "blue"]),
        ("<img src=//cdn.example/red-300x200.webp?w=300 alt=Red>", ["red"]),
        ("<img src=/wait.gif data-src=/i/red.jpg>", ["red"]),
        ("<picture><source srcset=/red.webp><img src=/red.jpg></picture>", ["red"]),
        ("<a href=/i/red.jpg><img src=/i/red_90x60.jpg></a>", ["red"]),
        ("<img src='/image.php?id=55'>", ["id=55"]),
        ("".join(f"<img src=/{n}.jpg>" for n in range(9)), ["0", "1", "2", "3"]),
        ("<a href=/><img src=/logo.svg></a><a href=/go/7><b><img src=/banner-7.png></b></a>", []),
        ("<div class=ad><img src=/7.png></div><img src=/count-7.gif width=1>", []),
        ("<a href=/7><div><div><img src=/7.png></div></div></a>", []),
        ("<div class=comments><img src=/ann.png> Ann: Nice.</div><img src=/red.png>", ["red"]),
        (f"<header>{'<img src=/icon.png>' * 12}</header><img src=/red.png>", ["red"]),
        ("<img src=/Captcha/7.png><img src='/code?name=Captcha&n=7'>", []),
        ("<img src='/code.php?r=0.8123'><img src='/code.php?1700000000'>", []),
        ("<nav><img src=/a.png></nav><img style='display:none' src=/b.png>", []),
        ("<img src='data:image/gif;base64,AA'><img>", []),
        ("<img src=/season.png><article><h1>Boat</h1><img src=/red.png></article>", ["red"]),
    ],
)
def test_pictures(html, names):
    assert images(html) == names
