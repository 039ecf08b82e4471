"""Show the result of commands that change an index."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.output import show

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from scrapy_simhash.maintenance.rewriting import RewriteResult


def show_kept(
    options: argparse.Namespace, directory: Path, kept: RewriteResult, **more: Any
) -> None:
    """Show what was removed from an index, and what it holds now."""
    if options.json:
        show(json.dumps({"index": str(directory), **more, **asdict(kept)}, indent=2))
        return
    if kept.removed_entries or kept.removed_near_duplicates:
        removed = f"removed    {kept.removed_entries:,} entries"
        if kept.removed_near_duplicates:
            removed += f", {kept.removed_near_duplicates:,} lines of the near-duplicate log"
        show(removed)
    show(
        f"the index  {kept.entries:,} entries, {kept.near_duplicates:,} lines of the "
        f"near-duplicate log, in {directory}"
    )
