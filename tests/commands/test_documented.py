"""Every subcommand, and every option of it, is in docs/commands.md or a page of its own."""

import argparse
import re
from pathlib import Path

import pytest

from scrapy_simhash.commands import main
from scrapy_simhash.commands.main import build_parser

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")
# The beginning of the page explains these once for all subcommands.
COMMON = {"--help", "--json", "--index", "--spider"}
SETTINGS = COMMANDS[COMMANDS.index("| option | setting |") : COMMANDS.index("## Ask")]


def parsers_of(parser):
    """Return name → parser for all subcommands and their subcommands, such as ``index query``."""
    found = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                found[name] = subparser
                for rest, below in parsers_of(subparser).items():
                    found[f"{name} {rest}"] = below
    return found


PARSERS = parsers_of(build_parser("scrapy simhash"))
# Those of slices stand on pages of their own (tests/extras/test_documented.py).
OWN = [name for name in PARSERS if name.split()[0] in {one.name for one in main.COMMANDS}]


def options_of(parser):
    return {
        option
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    }


def section_of(name):
    """Return the section on a subcommand in docs/commands.md, with the pages that it links to."""
    headings = list(re.finditer(r"^### (.+)$", COMMANDS, re.MULTILINE))
    for heading in headings:
        if name in heading[1].split(", "):
            text = COMMANDS[heading.end() :]
            end = re.search(r"^##", text, re.MULTILINE)
            text = text[: end.start()] if end else text
            pages = re.findall(r"\]\((\w+\.md)\)", text)
            return text + "".join((DOCS / page).read_text(encoding="utf-8") for page in pages)
    pytest.fail(f"docs/commands.md has no section on {name}")


@pytest.mark.parametrize("name", OWN)
def test_each_subcommand_is_documented_with_all_of_its_options(name):
    if name == "index":
        return
    text = section_of(name.removeprefix("index ").split()[0])
    documented = set(re.findall(r"--[a-z][a-z-]+", text))
    assert options_of(PARSERS[name]) - COMMON - settings_of(PARSERS[name]).keys() <= documented


def test_common_options_are_explained():
    beginning = COMMANDS[: COMMANDS.index("## Ask")]
    for option in COMMON:
        assert f"`{option}" in beginning


def settings_of(parser):
    return {
        option: action.dest
        for action in parser._actions
        for option in action.option_strings
        if action.dest.startswith("SIMHASH_")
    }


def test_options_of_settings_are_in_one_table():
    found = {
        option: name for parser in PARSERS.values() for option, name in settings_of(parser).items()
    }
    assert set(re.findall(r"--[a-z][a-z-]+", SETTINGS)) == set(found)
    for option, name in found.items():
        assert any(option in row and name in row for row in SETTINGS.splitlines()), option


def test_documented_options_exist():
    documented = set(re.findall(r"`(--[a-z][a-z-]+)", COMMANDS))
    assert documented <= {option for parser in PARSERS.values() for option in options_of(parser)}


@pytest.mark.parametrize("name", OWN)
def test_help_explains_with_examples(name):
    text = PARSERS[name].format_help()
    assert "%(prog)s" not in text
    assert f"  {PARSERS[name].prog}" in text
    for action in PARSERS[name]._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action


def test_the_subcommands_are_those_of_the_documentation():
    documented = {
        name
        for heading in re.findall(r"^### (.+)$", COMMANDS, re.MULTILINE)
        for name in heading.split(", ")
    }
    of_index = {name.removeprefix("index ") for name in PARSERS if name.startswith("index ")}
    assert documented == {one.name for one in main.COMMANDS} - {"index"} | of_index
    assert len(main.subcommands()) - 1 + len(of_index) <= 16
