"""Serve the demo site, or check its near-duplicates: `python -m example.demosite [--check]`."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from threading import Event

from .build import build_site
from .check import broken_rules, resemblance_table
from .manifest import MANIFEST_FILE, Manifest
from .server import DemoServer


def main() -> int:
    """Run the command line, and return the exit code: 1 if the site breaks a rule."""
    parser = argparse.ArgumentParser(prog="python -m example.demosite", description=__doc__)
    parser.add_argument("--check", action="store_true", help="check the rules of the site")
    parser.add_argument("--write", action="store_true", help="rewrite manifest.json, then check")
    parser.add_argument("--port", type=int, default=0, help="the mirror has the next port")
    options = parser.parse_args()
    if options.check or options.write:
        site = build_site(8001, 8002)
        if options.write:
            MANIFEST_FILE.write_text(Manifest.of(site).dumps(), encoding="utf-8")
        print(resemblance_table(site))
        broken = broken_rules(site)
        print("", *(broken or ["All rules hold."]), sep="\n")
        return 1 if broken else 0
    with DemoServer(options.port, options.port and options.port + 1) as server:
        print(f"{server.url}  (mirror: {server.mirror_url}), Ctrl-C to stop", flush=True)
        with suppress(KeyboardInterrupt):
            Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
