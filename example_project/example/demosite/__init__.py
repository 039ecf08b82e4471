"""A small news site, served on this machine, that is full of near-duplicate pages.

Its texts were written for it. The manifest lists the *families*, pages that are near-duplicates of
each other, so that the result of a crawl can be scored.
"""

from .build import build_site
from .manifest import Manifest
from .model import Page, Site
from .scoring import Score, score
from .server import DemoServer

__all__ = ["DemoServer", "Manifest", "Page", "Score", "Site", "build_site", "score"]
