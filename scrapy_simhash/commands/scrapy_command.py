"""``scrapy simhash``: the same subcommands, with Scrapy's options and the project's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from scrapy_simhash.commands.main import SUBCOMMANDS, main

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Takes Scrapy's options away, and hands on all the others."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """One line of usage."""
        return f"{{{','.join(SUBCOMMANDS)}}} ..."

    def short_desc(self) -> str:
        """For the list of Scrapy's commands."""
        return "Find texts and passages that were there before"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Scrapy's own. Help is shown by the subcommand that it is asked of."""
        super().add_options(parser)
        parser.add_argument("-h", "--help", action="store_true", help="what there is")
        # Else `--h` of a later subcommand's option would be Scrapy's.
        parser.allow_abbrev = False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run a subcommand."""
        arguments = [*args, "--help"] if opts.help else args
        self.exitcode = main(arguments, program="scrapy simhash", settings=self.settings)
