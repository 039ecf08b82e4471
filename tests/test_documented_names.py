"""Meta keys, flags, exceptions and stats: docs name all that are in the source, and no others."""

import re
from pathlib import Path

import scrapy_simhash
from scrapy_simhash import errors

from .documentation_pages import DOCS, NAMES, text_of

PACKAGE = Path(scrapy_simhash.__file__).parent
REFERENCE = (DOCS / "reference.md").read_text(encoding="utf-8")
ADAPTERS = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "crawl").glob("*.py"))
# A tag of items, and the name of a variable.
NO_META_KEYS = {"simhash_kind", "simhash_running"}


def section(title):
    beginning = REFERENCE.index(f"\n## {title}\n")
    return REFERENCE[beginning : REFERENCE.index("\n## ", beginning + 1)]


def named_in_first_cells(text):
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_meta_key_is_documented_and_no_other():
    found = set(re.findall(r'"((?:dont_)?simhash(?:_\w+)?)"', ADAPTERS)) - NO_META_KEYS
    assert {"simhash", "dont_simhash", "simhash_key", "simhash_refused"} <= found
    assert named_in_first_cells(section("Request meta keys")) == found


def test_every_field_of_the_verdict_is_documented():
    from scrapy_simhash.verdict import Verdict

    (row,) = re.findall(r"^\| `simhash` \|.*$", section("Request meta keys"), re.MULTILINE)
    for field in Verdict(kind="new", key="a", bits=8).to_dict():
        assert f"`{field}`" in row


def test_every_flag_is_documented_and_no_other():
    from scrapy_simhash.crawl.downloader_middleware import FLAG

    assert set(re.findall(r"\.flags\.append\((.+?)\)", ADAPTERS)) == {"verdict.kind"}
    text = section("Response flags")
    assert set(re.findall(r"`([a-z-]+)`", text)) == {FLAG, "error-page"}


def test_every_public_exception_is_documented_and_no_other():
    public = {
        name
        for name in scrapy_simhash.__all__
        if isinstance(getattr(scrapy_simhash, name), type)
        and issubclass(getattr(scrapy_simhash, name), Exception)
    }
    by_reference = {
        name.removeprefix("scrapy_simhash.") for name in named_in_first_cells(section("Exceptions"))
    }
    of_the_tree = {
        name for name in public if issubclass(getattr(scrapy_simhash, name), errors.SimhashError)
    }
    # The tree is drawn in its module.
    assert (public - of_the_tree) | {"SimhashError"} == by_reference
    for name in of_the_tree:
        assert name in errors.__doc__


def test_reasons_in_meta_are_documented():
    reasons = re.findall(r'"reason": .*"(\w+)"}', ADAPTERS)
    assert "index_error" in reasons
    for reason in reasons:
        assert f"| `{reason}` |" in REFERENCE


STATS = section("Stats")
# Slices have tables of their own.
TABLES = STATS + "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
FAMILIES = set(re.findall(r"^\| `simhash/([^`]+)` \|", TABLES, re.MULTILINE))

NAMED = re.compile(r"(?<![\w./-])simhash/([a-z_]+(?:/(?:[a-z0-9_]+|<[a-z]+>(?:_ms)?))*)")


def test_every_stat_that_a_page_names_is_in_the_reference():
    found = [(name, named) for name in NAMES for named in NAMED.findall(text_of(name))]
    assert len(found) > 50
    for name, named in found:
        stat = named.removeprefix("item/")
        if stat in FAMILIES or f"{named}/…" in FAMILIES:
            continue
        family, _, detail = stat.partition("/")
        assert any(known.startswith(f"{family}/<") for known in FAMILIES), (name, named)
        assert detail.isdigit() or f"`{detail.removesuffix('_ms')}`" in TABLES, (name, named)
