"""The tokens of names: symbols count, quotes and separators do not; parts and views of a title."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.names.name_tokens import is_view, name_tokens, parts_of, without_parts

# Each group has names of different pages.
DIFFERENT = [
    # Signs that separate, where there is nothing else.
    [";", "|", "'", '"', "`", "´", "¨", "()", "(:)", "(.)"],
    ["f(x)", "f[x]", "f'(x)", "f x"],
    ["(0, 1]", "[0, 1)", "(0, 1)", "[0, 1]", "0, 1"],
    ["5", "5'", '5"'],
    ["10⁵", "105", "10"],
    ["x²", "x₂"],
    ["operator<", "operator>", "operator<=", "operator>=", "operator==", "operator=", "operator"],
    ["operator()", "operator[]", "operator->", "operator->*", "operator-", "operator--"],
    ["operator!", "operator~", "operator&", "operator&&", "operator|", "operator||", "operator%"],
    ["operator/", "operator/=", "operator*", "operator^", "operator,<", "operator+", "operator++"],
    ["save", "save!", "saved?", "saved"],
    ["__init__", "init", "_init", "init_"],
    ["C", "C♯", "C♭", "C#", "C++"],
    [r"\d", r"\D", r"\d+", r"\D+", r"\d*", r"\w", r"\W", "d"],
    [".NET", "NET"],
    [":hover", "::hover", "hover"],
    ["7♠", "7♥", "7♦", "7♣"],
    ["−5", "5", "+5", "±5"],
    ["Group A-", "Group A+", "Group A"],
    ["(+)-menthol", "(−)-menthol", "(±)-menthol"],
    ["α-carotene", "β-carotene"],
    ["EUR/NOK", "NOK/EUR"],
    ["10 €", "10 $", "10 £", "10"],
    ["a ≤ b", "a ≥ b", "a < b", "a = b", "a ≠ b"],
    ["Team 🇳🇴", "Team 🇸🇪", "Team"],
    ["Team \U0001f3f4\U000e0067\U000e0062\U000e007f", "Team \U0001f3f4\U000e0061\U000e007f"],
    ["👍", "👎", "👍🏽"],
    ["5′", "5″"],
    ["2'-deoxyuridine", "2-deoxyuridine"],
    ["⌊x⌋", "⌈x⌉", "x", "⟨x⟩"],
    ["(.)", "(,)", "(:)", "($)", "()"],
    ["किला", "काला", "कल"],
    ["50 x 70", "70 x 50", "50 x 70 x 70"],
    ["3.11", "3.11.3", "3.1", "31.1"],
    ["...", "!!", "??"],
    ["Lamp AB/12", "Lamp AB-12", "Lamp AB-12/3", "Lamp AB-12-3", "Lamp AB-1/23", "Lamp 12/AB"],
]
SAME = [
    [
        *("A new Ferry", "a new ferry", "A  NEW\nFERRY", "“A new ferry”"),
        *("‘A new ferry’", "A new ferry."),
    ],
    ["Ferry — harbour", "FERRY | Harbour", "Ferry: harbour", "Ferry, harbour", "Ferry (harbour)"],
    ["FTP-Archive", "ftp archive", "FTP–Archive", "FTP/Archive", "FTP - Archive", "FTP -Archive"],
    ["ｆｅｒｒｙ １", "ferry 1"],
    ["Weaver's Inn", "Weaver’s Inn", "Weavers Inn"],
    ["Alto® Jacket™", "Alto Jacket"],
    ["-5 °C", "−5 °C"],
    ["snake_case", "snake case"],
    ["Alto (red)", "Alto, red"],
    ["6 'small' boats", "6 small boats"],
]


@pytest.mark.parametrize("names", DIFFERENT, ids=lambda names: names[0])
def test_names_that_differ_by_a_symbol_differ(names):
    assert len({tuple(name_tokens(name)) for name in names}) == len(names)
    assert all(map(name_tokens, names))


@pytest.mark.parametrize("names", SAME, ids=lambda names: names[0])
def test_case_quotes_and_separators_do_not_count(names):
    assert len({tuple(name_tokens(name)) for name in names}) == 1


def test_tokens_of_scripts_without_case_are_letters():
    assert name_tokens("王明 7 号") == ["王", "明", "7", "号"]
    assert name_tokens("") == name_tokens(" \n “”") == []


@given(st.text(max_size=40))
@example("[0]")
def test_every_text_has_tokens_that_do_not_depend_on_space_around_it(text):
    assert name_tokens(f"  {text}\n") == name_tokens(text)
    assert all(name_tokens(text))


@given(
    st.lists(st.text("abcdéжλ", min_size=1, max_size=8), min_size=1), st.sampled_from("#+=§€♯😀")
)
def test_a_symbol_after_any_word_counts(words, symbol):
    for at in range(len(words)):
        other = [*words[:at], words[at] + symbol, *words[at + 1 :]]
        assert name_tokens(" ".join(other)) != name_tokens(" ".join(words))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Boat 7", ["Boat 7"]),
        ("Boat 7 - Shop", ["Boat 7", "Shop"]),
        ("Boat 7 -Shop", ["Boat 7", "Shop"]),
        ("Boat-7 | The Shop » Home", ["Boat-7", "The Shop", "Home"]),
        ("Print: Boat 7", ["Print", "Boat 7"]),
        ("Boat 7 (print version)", ["Boat 7", "print version"]),
        ("EUR/NOK - Kurant", ["EUR/NOK", "Kurant"]),
        ("王明_百科", ["王明", "百科"]),
        ("王明|生活 - 百科", ["王明", "生活", "百科"]),
        ("operator|", ["operator|"]),
        ("Minus -5", ["Minus -5"]),
    ],
)
def test_parts_of_names(name, parts):
    assert parts_of(name) == parts


def test_what_is_left_of_a_name_keeps_its_symbols():
    left = without_parts("operator() - Reference", lambda part: part == "Reference")
    assert name_tokens(left) == name_tokens("operator()")
    assert without_parts("Shop - Shop", lambda part: part == "Shop") == "Shop - Shop"
    assert without_parts("Shop", lambda part: True) == "Shop"


@pytest.mark.parametrize(
    "part",
    [
        *("Print", "print version", "Printer friendly version", "for print", "AMP", "Mobile"),
        *("Mobile version", "Druckversion", "Druckansicht", "Version imprimable", "Imprimir"),
        *("versión para imprimir", "Versione stampabile", "Versão para impressão", "Utskrift"),
        *("Tulostusversio", "Afdrukken", "Verze pro tisk", "Wersja do druku", "Yazdır"),
        *("Версия для печати", "Мобильная версия", "Εκτύπωση", "גרסה להדפסה", "طباعة"),
        *("Versiune pentru tipărire", "Verzia pre tlač", "Εκτυπώσιμη έκδοση", "נוסח להדפסה"),
        *("打印版", "打印本页", "印刷用ページ", "手机版", "인쇄", "พิมพ์"),
    ],
)
def test_parts_that_only_name_a_view(part):
    assert is_view(part)


@pytest.mark.parametrize(
    "part",
    ["", "red", "Floral print", "Mobile phones", "version 2", "page", "Print 7", "cancelled"],
)
def test_parts_that_say_more_than_a_view(part):
    assert not is_view(part)
