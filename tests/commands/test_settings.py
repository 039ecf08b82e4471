"""Options that stand for settings: one table of what they set, and what takes them."""

import argparse

import pytest

from scrapy_simhash.commands._settings import add_settings, command_settings
from scrapy_simhash.commands.main import build_parser


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ("--preset classic", "SIMHASH_PRESET", "classic"),
        ("--extractor text", "SIMHASH_EXTRACTOR", "text"),
        ("--select main --select .a,.b", "SIMHASH_CONTENT_SELECT", ("main", ".a,.b")),
        ("--remove //nav", "SIMHASH_CONTENT_REMOVE", ("//nav",)),
        ("--min-tokens 7", "SIMHASH_MIN_TOKENS", 7),
        ("--max-distance 20", "SIMHASH_MAX_DISTANCE", 20),
        ("--min-resemblance 0.5", "SIMHASH_MIN_RESEMBLANCE", 0.5),
        ("--same-title", "SIMHASH_SAME_TITLE", True),
        ("--no-same-title", "SIMHASH_SAME_TITLE", False),
        ("--max-bytes 9", "SIMHASH_MAX_BYTES", 9),
        ("--action tag", "SIMHASH_ACTION", "tag"),
        ("--incremental", "SIMHASH_INCREMENTAL", True),
        ("--distinct-by sku --distinct-by .price", "SIMHASH_DISTINCT_BY", ("sku", ".price")),
        ("--pages 1000", "SIMHASH_EXPECTED_PAGES", 1000),
        ("--redis redis://a.example", "SIMHASH_INDEX", "redis"),
        ("--redis-key news", "SIMHASH_INDEX", "redis"),
        ("--redis-key news", "SIMHASH_REDIS_KEY", "news"),
    ],
)
def test_an_option_sets_its_setting(folder, given, name, value):
    words = given.split()
    parser = argparse.ArgumentParser()
    add_settings(parser, {word[2:].removeprefix("no-") for word in words if word[:2] == "--"})
    options = parser.parse_args(words)
    options.set = ["SIMHASH_MAX_BYTES=5", "SIMHASH_REDIS_CRAWL=x"]
    read = command_settings(None, options)
    found = read(name)
    assert (found[0] if name == "SIMHASH_PRESET" else found) == value
    assert read("SIMHASH_REDIS_CRAWL") == "x"


SCHEME = "--preset wide --extractor text --select a --remove b --min-tokens 5"
COPIES = "--max-distance 5 --min-resemblance 1 --no-same-title"


@pytest.mark.parametrize(
    "given",
    [
        f"extract {SCHEME} --max-bytes 9 a",
        f"compare {SCHEME} {COPIES} --max-bytes 9 a b",
        f"calibrate {SCHEME} {COPIES} --max-bytes 9 a",
        f"dedupe {SCHEME} {COPIES} --max-bytes 9 --action tag --incremental --distinct-by a b",
        "index query --max-distance 5 --max-bytes 9 a",
        f"index rebuild {SCHEME} --max-distance 5 --pages 5",
    ],
)
def test_commands_take_the_options(given):
    build_parser("simhash").parse_args(given.split())
