"""README and docs are complete, and their code runs."""

import re
from importlib.util import find_spec
from typing import get_args

import pytest
from scrapy.settings import Settings

from scrapy_simhash import Addon
from scrapy_simhash.crawl.settings import SimhashSettings, unknown_settings
from scrapy_simhash.crawl.settings_table import ADVANCED, FRONT, all_settings
from scrapy_simhash.index import choose_plan
from scrapy_simhash.policy import KeptReason
from scrapy_simhash.scheme import PRESETS
from scrapy_simhash.setting import markdown
from scrapy_simhash.workers.pool import LOST_REASONS

from .documentation_pages import ROOT, blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for path in (ROOT / "scrapy_simhash").rglob("*.py")
    if "extras" not in path.parts
}


@pytest.mark.parametrize("table", [FRONT, ADVANCED])
def test_the_reference_has_the_table_of_settings(table):
    # `python -m scrapy_simhash.crawl.settings_table` prints it.
    assert markdown(table) in REFERENCE


def test_readme_has_the_twelve_settings_in_front():
    section = README[README.index("\n## The settings that matter") :]
    rows = re.findall(r"^\| (`SIMHASH.*?) \|", section, re.MULTILINE)
    front = {one.name for one in FRONT}
    assert {name for row in rows for name in re.findall(r"SIMHASH_\w+", row)} == front
    assert len(front) == 12


def test_every_setting_that_a_document_names_exists():
    assert len(all_settings()) <= 42
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        named = set(re.findall(r"SIMHASH_[A-Z_]+", path.read_text(encoding="utf-8")))
        assert named <= set(all_settings()), path


def test_readme_names_every_preset_with_its_distance():
    table = all_settings()
    for name in ("wide", "classic"):
        assert f'`"{name}"`' in table["SIMHASH_PRESET"].meaning
        assert f"{PRESETS[name].max_distance} for `{name}`" in table["SIMHASH_MAX_DISTANCE"].meaning


def test_presets_are_all_described_with_distance_and_tables():
    text = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    text = text[: text.index("## What they find")]
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", text, re.MULTILINE))
    assert set(rows) == set(PRESETS)
    for name, preset in PRESETS.items():
        cells = [cell.strip() for cell in rows[name].split("|")]
        plan = (
            str(choose_plan(preset.scheme.bits, preset.max_distance))
            if preset.has_tables
            else "none: linear scan"
        )
        assert cells[:3] == [str(preset.scheme.bits), str(preset.max_distance), plan]


def literals_passed_to(function):
    """String literals that stand as the first argument of calls to a method."""
    return set(re.findall(rf'\.{function}\(\s*"([^"]+)"', "".join(SOURCES.values())))


def test_reference_lists_every_stat_counted_by_name():
    # Others count characters.
    counted = {name for name in literals_passed_to("count") if re.fullmatch("[a-z_/]{3,}", name)}
    counted |= {f"errors/{step}" for step in literals_passed_to("count_error")}
    assert {"dropped", "errors/extraction"} <= counted
    for name in counted:
        family, _, detail = name.partition("/")
        if detail:
            assert f"`simhash/{family}/<" in REFERENCE
            assert f"`{detail}`" in REFERENCE
        else:
            assert re.search(f"`simhash/{name}`", REFERENCE)


def test_reference_lists_every_reason_to_keep():
    reasons = get_args(KeptReason)
    assert {"flood", "no_page"} <= set(reasons)
    (row,) = [line for line in REFERENCE.splitlines() if "simhash/kept/<reason>" in line]
    for reason in reasons:
        assert f"`{reason}` (" in row


def test_reference_lists_every_reason_to_skip():
    source = SOURCES[ROOT / "scrapy_simhash/crawl/downloader_middleware.py"]
    reasons = set(re.findall(r'^            "(\w+)": ', source, re.MULTILINE))
    of_dedupe = set()
    for path, text in SOURCES.items():
        of_dedupe |= set(re.findall(r'(?:Unreadable\(|\breason ?= ?)"(\w+)"', text))
        found = of_dedupe if path.is_relative_to(ROOT / "scrapy_simhash/dedupe") else reasons
        found |= set(re.findall(r'skipped ?= ?"(\w+)"', text))
        if path.name == "detector.py":
            found |= set(re.findall(r'return "(\w+)"', text))
    reasons |= {*LOST_REASONS.values()}
    assert {"no_callback", "few_tokens", "extraction_error", "too_large"} <= reasons
    for reason in reasons:
        assert re.search(rf"^\| `{reason}` \|", REFERENCE, re.MULTILINE), reason
    assert {"error", "no_field", "unreadable"} <= of_dedupe
    listed = (ROOT / "docs/dedupe.md").read_text(encoding="utf-8")
    for reason in of_dedupe - set(get_args(KeptReason)):
        assert f"`{reason}`" in listed, reason


PYTHON = [
    pytest.param(
        block.text,
        id=str(block),
        marks=pytest.mark.skipif(
            "pyspark" in block.text and find_spec("pyspark") is None,
            reason="`make test-spark` runs it, with its package",
        ),
    )
    for block in blocks()
    if block.language == "python"
]


@pytest.mark.parametrize("block", PYTHON)
def test_python_in_the_documentation_runs_and_its_settings_are_allowed(
    block, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    named = {}
    exec(compile(block, "<documentation>", "exec"), named)
    settings = named.get("custom_settings", {}) | {
        name: value for name, value in named.items() if name.startswith("SIMHASH_")
    }
    assert unknown_settings(Settings(settings)) == {}
    SimhashSettings(Settings(settings), "spider")


def test_the_manual_lines_are_what_the_addon_does():
    (manual,) = re.findall(r"```python\n([^`]*\nEXTENSIONS = .*?)```", REFERENCE, re.DOTALL)
    lines = {}
    exec(compile(manual, "<documentation>", "exec"), lines)
    settings = Settings({"SIMHASH_ENABLED": True})
    Addon().update_settings(settings)
    for name in ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES"):
        by_addon = {
            f"{component.__module__}.{component.__qualname__}": order
            for component, order in settings.getdict(name).items()
        }
        assert lines[name] == by_addon
