"""``index``: the commands that query and maintain one index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.commands import clusters, export, import_, query, stats
from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands.maintenance import MAINTENANCE_COMMANDS

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Queries and maintains an index that crawls have made.

  {program} index stats --spider news
  {program} index query 'https://example.com/article?print=1'
  {program} index check --help
"""
COMMANDS = (
    stats.COMMAND,
    clusters.COMMAND,
    query.COMMAND,
    *MAINTENANCE_COMMANDS,
    export.COMMAND,
    import_.COMMAND,
)


def _add_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for command in COMMANDS:
        command.add_parser(commands)


COMMAND = Command(
    "index", "query and maintain an index", _DESCRIPTION, None, _add_commands, json=False
)
