"""The index that a crawl of the demo site leaves."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "example_project"


def crawl_demo_site(directory: Path) -> Path:
    """Crawl it in a process of its own; returns the index of its pages."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        from example.demo import crawl
        from example.demosite import DemoServer
    finally:
        sys.path.remove(str(EXAMPLE))
    with DemoServer() as server:
        done = crawl(server, directory)
    assert len(done.pairs) > 10
    return directory / "simhash" / "spiders" / "site"
