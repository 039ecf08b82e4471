"""What attributes and tags make chrome, and which ``h1`` is the page's own heading."""

import pytest

from tests.extraction.test_lines import texts


class TestChrome:
    @pytest.mark.parametrize("tag", ["nav", "footer", "aside", "dialog", "form", "header"])
    def test_chrome_ends_with_its_element(self, tag):
        html = f"one<{tag}>two<div>three</div><nav>four</nav>five</{tag}>six"
        assert texts(html, chrome=True) == "two|three|four|five"
        assert texts(html, chrome=False) == "one|six"

    @pytest.mark.parametrize(
        "role",
        "alertdialog banner complementary contentinfo dialog menu menubar navigation search".split(),
    )
    @pytest.mark.parametrize("tag", ["div", "section", "ul", "p"])
    def test_roles_make_chrome(self, role, tag):
        html = f"<p>one</p><{tag} role={role}>two</{tag}><p>three</p>"
        assert texts(html, chrome=True) == "two"
        assert texts(html, chrome=False) == "one|three"

    @pytest.mark.parametrize("role", ["main", "article", "region", "document", ""])
    def test_other_roles_make_no_chrome(self, role):
        assert texts(f"<div role='{role}'>one</div>", chrome=False) == "one"

    @pytest.mark.parametrize("tag", ["body", "main", "article"])
    @pytest.mark.parametrize(
        "attribute", ["role=dialog", "role=navigation", "hidden", "class=cookie"]
    )
    def test_elements_that_may_contain_the_content_are_never_chrome(self, tag, attribute):
        assert texts(f"<{tag} {attribute}><p>one</p></{tag}>", chrome=False) == "one"

    def test_a_header_is_chrome_unless_it_is_in_a_section(self):
        assert texts("<div><header>one</header></div>two", chrome=True) == "one"
        for tag in ("article", "main", "section"):
            html = f"<{tag}><div><header>one</header></div>two</{tag}>"
            assert texts(html, chrome=False) == "one|two"

    def test_a_form_is_chrome_unless_it_contains_paragraphs(self):
        assert texts("<form>one<div>two</div></form>three", chrome=True) == "one|two"
        assert texts("<form>one<div><p>two</p></div></form>three", chrome=True) == ""

    @pytest.mark.parametrize(
        ("form", "chrome"),
        [
            ("<textarea></textarea>", True),
            ("<textarea>a text to edit</textarea>", False),
            ("<ul>" + 6 * "<li><a href=/a>one</a>" + "</ul>", False),
            (5 * "<a href=/a>one</a>", True),
            (9 * "<a name=a>one</a>", True),
        ],
    )
    def test_a_form_with_a_text_or_a_list_is_no_chrome(self, form, chrome):
        assert bool(texts(f"<form>{form}</form>two", chrome=False) == "two") is chrome

    def test_choices_of_a_form_are_chrome(self):
        html = (
            "<form><h2>one</h2><label>two</label><select><option>three</select>"
            "<fieldset><legend>four</legend>five</fieldset></form>"
            "<label><input type=checkbox>six</label><select><option>seven</select>"
        )
        assert texts(html, chrome=True) == "two|three|four|seven"
        assert texts(html, chrome=False) == "one|five|six"

    def test_nested_elements_are_judged_one_by_one(self):
        html = (
            "<div class=consent><div class=cookies>one</div><button>two</button></div>"
            "<div class=cookies><h1>Cookies</h1><form><p>three</p></form><form>four</form></div>"
            "<header>five<section><header>six</header></section></header>"
            "<section role=search><header>seven</header></section>"
        )
        assert texts(html, chrome=True) == "one|two|four|five|six|seven"
        assert texts(html, chrome=False) == "Cookies|three"


class TestHeading:
    @pytest.mark.parametrize(
        "html",
        [
            "<h1>Boats</h1>",
            "<main class=content><h1 id=top><a href='/boats'>Boats</a></h1></main>",
            "<h1><a href='https://a.example/boats/?x=1'>Boats</a></h1>",
            "<h1>Boats <a href='/?page=2'>2</a></h1>",
            "<h1>Boats <a href='#top'>#</a></h1>",
            "<h1><a href='/'>Home</a> <a href='/boats'>Boats</a></h1>",
            "<h1><a name=top>Boats</a></h1>",
            "<h1><a href='http://['>Boats</a></h1>",
            "<body class=brand-page><article class=logos><h1>Boats</h1></article></body>",
            "<header><h1>Boats</h1></header>",
        ],
    )
    def test_an_h1_is_the_heading(self, html):
        assert "Boats" in texts(html, heading=True)

    @pytest.mark.parametrize(
        "html",
        [
            "<h1 class=logo>Boats</h1>",
            "<h1 id='site-title'>Boats</h1>",
            "<div class='x site-branding'><div><h1>Boats</h1></div></div>",
            "<div id=masthead><h1>Boats</h1></div>",
            "<div id=header><h1>Boats</h1></div>",
            "<h1><a href='/'>Boats</a></h1>",
            "<h1><a href='https://a.example'><img alt=x></a>Boats</h1>",
            "<h1><a name=x></a><a href='/index.html'>Boats</a></h1>",
            "<h2>Boats</h2>",
        ],
    )
    def test_the_logo_of_the_site_is_no_heading(self, html):
        assert texts(html, heading=True) == ""
        assert texts(html) == "Boats"
