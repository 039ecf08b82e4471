"""``scrapy simhash``: run the subcommands with Scrapy's options and the project's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from scrapy_simhash.commands.main import main, subcommands

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """The Scrapy command; it handles Scrapy's own options, and a subcommand the others."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return one line of usage."""
        return f"{{{','.join(subcommands())}}} ..."

    def short_desc(self) -> str:
        """Return the line for the list of Scrapy's commands."""
        return "Find near-duplicate pages"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add Scrapy's own options, and ``--help``, which the subcommand handles."""
        super().add_options(parser)
        parser.add_argument("-h", "--help", action="store_true", help="show this help")
        # Abbreviations such as `--h` are for the subcommand, not for Scrapy's own options.
        parser.allow_abbrev = False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run a subcommand, and set the exit code."""
        arguments = [*args, "--help"] if opts.help else args
        self.exitcode = main(arguments, program="scrapy simhash", settings=self.settings)
