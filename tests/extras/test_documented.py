"""The page of each slice has its settings, and names its stats and meta keys."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

import scrapy_simhash.extras
from scrapy_simhash.setting import markdown
from tests.commands.test_documented import COMMON, PARSERS, options_of, settings_of
from tests.documentation_pages import DOCS

PACKAGE = Path(scrapy_simhash.extras.__path__[0])
NAMES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_slice_has_its_settings_stats_and_meta_keys(name):
    page = (DOCS / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    slice_ = import_module(f"scrapy_simhash.extras.{name}").SLICE
    assert not slice_.settings or markdown(slice_.settings) in page
    if slice_.command:
        command = resolve_name(slice_.command).name
        parsers = [parser for at, parser in PARSERS.items() if at.split()[0] == command]
        # Options of settings are in docs/commands.md.
        of_settings = set().union(*map(settings_of, parsers))
        for option in set().union(*map(options_of, parsers)) - COMMON - of_settings:
            assert option in page
    for path in (PACKAGE / name).glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for stat in re.findall(r'_?stats\.(?:count|skip)\(f?"([a-z_/]+)', source):
            family = stat.rstrip("/").split("/")[-1]
            assert f"`{family}`" in page or f"{family}`" in page or f"{family}/" in page, stat
        for key in re.findall(r'^[A-Z_]+META_KEY = "(\w+)"', source, re.MULTILINE):
            assert f"`{key}`" in page
