"""Recognize HTML by looking at the content: is a body an HTML page, is a text markup?

Servers send JSON, scripts, feeds and plain texts as ``text/html``, and people write about
``<video>`` and ``List<String>`` in plain texts. The rules, which never parse a document:

- A body is HTML if it has a doctype of HTML, or if its root element is one of HTML, as are most of
  its elements. XML has another root. A body that begins with text is HTML if a page follows, up to
  its end, or if half its lines have markup outside quotes, and it is neither JSON nor a script nor
  a table.
- A text is markup if one of its elements is closed, or if it begins with an element that needs no
  end tag or that has attributes. Elements that hide what they contain count only at the
  beginning: a text about ``<script>`` and ``</script>`` would vanish between the two.
"""

from __future__ import annotations

import csv
import json
import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal

Kind = Literal["html", "text", "other"]

# Characters of a body that are looked at.
_LOOKED_AT = 1 << 16
_BINARY_SAMPLE = 4096
_MAX_BINARY_CHARACTERS = 80
_BINARY = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
# Elements of HTML that `lxml.html.defs` lacks. Not `data`, which is the root of much XML.
_MORE_TAGS = "bdi dialog frame main nobr noframes picture rb rtc search slot template xmp".split()
_PAGE_TAGS = frozenset(("html", "head", "body", "frameset"))
_PAGE_START = re.compile(r"^<(?:!doctype\s+)?html\b", re.IGNORECASE | re.MULTILINE)
_PAGE_END = re.compile(r"</html\s*>\s*\Z", re.IGNORECASE)
# Elements whose end tag may be omitted, or that have none.
_OMITTED_ENDS = frozenset(
    "area base br col dd dt embed hr img input li link meta option p source tbody td tfoot th thead"
    " tr track wbr html head body frameset".split()
)
# Unless these are closed, a parser hides the rest of the document in them.
_HIDING_TAGS = frozenset(
    "applet audio canvas iframe math noembed noframes noscript object plaintext script select style"
    " svg template textarea title video xmp".split()
)
_TAG = re.compile(r"<(/?)([a-zA-Z][\w:.-]*)((?:\s[^<>]*|/)?)>")
_ATTRIBUTE = re.compile(r"\s[\w:@.-]+=[\"'\w#/.]")
# A line break that touches a word, the end of a sentence or the end of a line.
_LINE_BREAK = re.compile(r"[\w.!?:;,>)\n]<br ?/?>|<br ?/?>[\w\n]|<img\s[^<>]*src=", re.IGNORECASE)
# A bracket that is not closed, or that begins an address, or anything else but a tag.
# After a tag that is only mentioned, a sentence goes on, without further tags.
_TEXT_OF_TAG = re.compile(r"(?![ ,.:;][^<]*\Z)\s*\S")
_LOOSE_BRACKET = re.compile(r"<(?:(?=[^<>]*(?:<|\Z))|(?![/!?]|[a-zA-Z][\w:.-]*(?:[\s>]|/>)))")
_CODE_OF_MARKDOWN = re.compile(r"(?<![\w`])(?:(`{3,9}).*?\1|`[^`\n]+`(?![\w`]))", re.DOTALL)
# Elements after text that would hide what is no code.
_HIDDEN_PROSE = re.compile(
    r"(\A|[^<>\s]\s*|</(?:a|b|code|em|i|span|strong)>\s*)"
    r"(<(script|style|template|noscript|video|audio|iframe)>[^<>]*[\w,.:!?](?:\s|`)*</\3>)",
    re.IGNORECASE,
)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_DOCTYPE = re.compile(r"<!doctype\s+([\w:.-]+)", re.IGNORECASE)
# White space, a comment, a declaration, or a doctype: what may stand before the content. After a
# declaration without `?>`, all are without it: to search for it at each would take long.
_SPACE_OR_COMMENT = r"[\s\ufeff\u200b]+|<!--.*?-->"
_DECLARATION = r"<\?(?!(?-i:php))[^>]*>"
_PROLOG = re.compile(
    rf"{_SPACE_OR_COMMENT}|<(?=\?).*?\?>|{_DECLARATION}(?:{_SPACE_OR_COMMENT}|{_DECLARATION})*"
    rf"|{_DOCTYPE.pattern}(?![\w:.-])[^\[>]*(?:>|\[.*?\]>)",
    re.IGNORECASE | re.DOTALL,
)
# What a browser makes of a body that is no HTML, as rendering downloaders return it.
_SHOWN_BY_BROWSER = re.compile(
    r"<html[^>]*><head>(?:<(?:meta|link)[^>]*>)*(?:</head>)?<body[^>]*><pre[^>]*>[^<]*</pre>"
    r"(?:<div[^>]*></div>)?</body></html>\s*"
    r"|<html[^>]*>(?:(?!<body)[^\0]){0,9999}<body[^>]*><div id=\"webkit-xml-viewer-source-xml",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"""(?<!\w)(?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)(?!\w)""")
# Of a page, which the server did not run: PHP, Jinja, Handlebars.
_SOURCE = re.compile(r"\ufeff?\s*(?:<\?(?!xml\b)|\{[%#]|\{\{[#>!])")
_FOREIGN = re.compile(r"<(svg|math)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# Prefixes that keep JSON from being run as a script.
_GUARD = re.compile(r"\s*(?:\)\]\}'?,?|while\s*\(1\);|for\s*\(;;\);|&&&START&&&)\s*")
_JSON = re.compile(
    r"""\{\s*(?:["'][^"'\n]{0,200}["']|[\w$]{1,80})\s*:|\[\s*(?:\{\s*["'}]|\[\s*["\d\[]|
    (?:"[^"\n]{0,2000}"|-?\d[\d.eE+-]{0,30}|true|false|null)\s*[,\]]\s*(?:["\d\[{tfn-]|\Z))""",
    re.VERBOSE,
)
_JSON_LINE = re.compile(r"^[{\[]", re.MULTILINE)
_CODE = re.compile(
    r"""(?:[!+~(;]*\s*(?:async\s+)?function\b|\(\s*\([\w,\s]*\)\s*=>
    |(?:var|let|const|import|export|package|class|public|namespace|using)\s+[\w${\[*"'(]
    |(?:create|insert|drop)\s+(?:table|into|database)\b
    |[\w$]+(?:\.[\w$]+|\[[^\]\n]{1,80}\])*(?:\(|\s*=(?!=)\s*[\[{"'(\w$!]))""",
    re.VERBOSE | re.IGNORECASE,
)
_CODE_ENDS = (";", ")", "}", "]", "/")
_CODE_WHATEVER_ENDS_IT = re.compile(
    r"""/\*|//|\#!|\#include\b|@(?:charset|import|media)\b|---\s*\n|BEGIN:V|["']use strict["']"""
)


def is_html(text: str) -> bool:
    """Return True if a decoded body is HTML, or empty: a page, or a fragment of one."""
    return kind_of(text) == "html"


def kind_of(text: str) -> Kind:
    """Return ``html`` for HTML and for an empty body, ``text`` for a plain text, or ``other``, such
    as JSON, XML, a script, a table, or binary.
    """
    at, doctype = _after_prolog(text)
    if not doctype and "\0" in text:  # the search takes long, and few pages need it
        text = text.replace("\0", "")
        at, doctype = _after_prolog(text)
    end = at + _LOOKED_AT
    root = _TAG.match(text, at, end)
    if _SOURCE.match(text):
        return "other"
    # A program may write notices before a page.
    is_after = root is None and _PAGE_END.search(text, len(text) - 50) and _PAGE_START.search(text)
    is_empty = at == len(text)
    if is_after or is_empty or doctype.endswith("html") or doctype.startswith("netscape-bookmark"):
        return "html"
    if root is not None and root[2].lower().rpartition(":")[2] in _PAGE_TAGS:
        return "other" if _SHOWN_BY_BROWSER.match(text, at, end) else "html"
    start = text[at:end]
    is_other = (
        (root is not None and not root[1] and (doctype or not _is_html_root(root, text, at)))
        or len(_BINARY.findall(start[:_BINARY_SAMPLE])) > _MAX_BINARY_CHARACTERS
        or _is_data(text, at, start)
    )
    if is_other:
        return "other"
    if is_markup(start) and (start.startswith("<") or _is_mostly_markup(start)):
        return "html"
    return "other" if doctype else "text"


def begins_as_html(text: str) -> bool:
    """Return True if a text is a whole page: it has a doctype of HTML, or its root is html, head or
    body.
    """
    at, doctype = _after_prolog(text)
    root = _TAG.match(text, at)
    return doctype == "html" or (root is not None and root[2].lower() in _PAGE_TAGS)


def begins_as_element(text: str) -> bool:
    """Return True if a text begins with markup of HTML, after comments and declarations."""
    at, doctype = _after_prolog(text)
    return doctype == "html" or (text.startswith("<", at) and is_html(text))


def is_markup(text: str) -> bool:
    """Return True if a text is HTML, not a plain text that contains a word such as ``<video>``."""
    if "<" not in text:
        return False
    at, _ = _after_prolog(text)
    opened: set[str] = set()
    for tag in _TAG.finditer(text, at):
        name = tag[2].lower()
        if name not in _tags():
            continue
        if tag[1]:
            if name in opened and (name not in _HIDING_TAGS or text.startswith(f"<{tag[2]}", at)):
                return True
        elif tag.start() == at and (
            _ATTRIBUTE.match(tag[3])
            or (name in _OMITTED_ENDS and _TEXT_OF_TAG.match(text, tag.end()))
        ):
            return True
        else:
            opened.add(name)
    return bool(opened) and (_LINE_BREAK.search(text) is not None or begins_as_html(text))


def mentions_escaped(text: str) -> str:
    """Return a text with ``<`` escaped in tags that it only mentions."""
    if "`" in text:
        text = _CODE_OF_MARKDOWN.sub(lambda found: found[0].replace("<", "&lt;"), text)
    return _HIDDEN_PROSE.sub(lambda found: found[1] + found[2].replace("<", "&lt;"), text)


def repaired(markup: str) -> str:
    """Return a text with markup, with ``<`` escaped where no element begins, or one that is not
    closed and would hide what follows it.
    """
    markup = _CDATA.sub(r"\1", markup)
    if (at := markup.rfind("<!--")) >= 0 and markup.find("-->", at) < 0:
        markup = f"{markup[:at]}&lt;{markup[at + 1 :]}"
    markup = _LOOSE_BRACKET.sub("&lt;", markup)
    closed: set[str] = set()  # elements that are closed further on
    loose = []
    for tag in reversed(list(_TAG.finditer(markup))):
        name = tag[2].lower()
        if tag[1]:
            closed.add(name)
        elif name in _HIDING_TAGS or not (name in _tags() or set("-:") & set(name) or tag[3]):
            if name not in closed and not tag[3].endswith("/"):
                loose.append(tag.start())
            if name in _HIDING_TAGS:
                closed.discard(name)
    places = pairwise((-1, *reversed(loose), len(markup)))
    return "&lt;".join(markup[loose_bracket + 1 : end] for loose_bracket, end in places)


def _after_prolog(text: str) -> tuple[int, str]:
    """Return where the content begins, after white space, comments, declarations and doctype; and
    the name in the doctype in lower case, or ``""``.
    """
    at, doctype = 0, ""
    while part := _PROLOG.match(text, at):
        doctype = part[1] or doctype
        at = part.end()
    unclosed = _DOCTYPE.match(text, at)
    return at, (unclosed[1] if unclosed else doctype).lower()


def _is_html_root(root: re.Match[str], text: str, at: int) -> bool:
    """Return True if an element may begin HTML: most elements, and the root, are those of HTML."""
    name, attributes = root[2], root[3]
    content = text[at : at + _LOOKED_AT]
    is_closed = "-" not in name and text.rstrip().endswith(f"</{name}>")
    is_of_xml = "xmlns" in attributes and "xhtml" not in attributes
    is_foreign = is_closed or is_of_xml or " version=" in attributes
    if (is_closed and is_of_xml) or (is_foreign and name.lower() not in _tags()):
        return False
    content = _FOREIGN.sub("", _COMMENT.sub("", _CDATA.sub("", content)))
    names = [
        tag[2].lower() for tag in _TAG.finditer(content) if not (tag[1] or set("-:") & set(tag[2]))
    ]
    return 2 * sum(name in _tags() for name in names) > len(names)


def _is_mostly_markup(start: str) -> bool:
    """Return True if half the lines of a body that begins with text have markup outside quotes."""
    start = _QUOTED.sub("", start)
    lines = list(filter(str.strip, start.splitlines()))
    return 2 * sum("<" in line for line in lines) >= len(lines) and is_markup(start)


def _is_data(text: str, at: int, start: str) -> bool:
    """Return True for JSON, scripts and tables, which may contain HTML in their values."""
    end = text.rstrip()[-1:]
    if start.startswith("<"):  # a server may write notices, as HTML, before JSON
        return _ends_with_json(text, end)
    return bool(
        _GUARD.match(start)
        or _JSON.match(start)
        or (start[0] == '"' == end and _is_json(text[at:]))
        or _ends_with_json(text, end)
        or _CODE_WHATEVER_ENDS_IT.match(start)
        or (end in _CODE_ENDS and _CODE.match(start))
        or _is_table(start)
    )


def _ends_with_json(text: str, end: str) -> bool:
    first = _JSON_LINE.search(text) if end in ("}", "]") else None
    return first is not None and _is_json(text[first.start() :])


def _is_json(text: str) -> bool:
    try:
        json.loads(text.strip())
    except (ValueError, RecursionError):
        return False
    return True


def _is_table(start: str) -> bool:
    """Return True if the first lines are rows with equally many fields, the first one without tags.

    Two rows need three fields, three rows two.
    """
    lines = start.splitlines(keepends=True)[:20]
    if len(start) == _LOOKED_AT:
        lines = lines[:-1]  # it may be cut off
    if not lines or "<" in lines[0]:
        return False
    return any(one in lines[0] and _are_rows(lines, delimiter=one) for one in ",;\t|")


def _are_rows(lines: list[str], delimiter: str) -> bool:
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return False
    counts = {len(row) for row in rows}
    return len(counts) == 1 < len(rows) and counts.pop() * len(rows) >= 6  # noqa: PLR2004


@lru_cache(maxsize=1)
def _tags() -> frozenset[str]:
    """Return the names of the elements of HTML."""
    from lxml.html.defs import tags

    return frozenset((*tags, *_MORE_TAGS))
