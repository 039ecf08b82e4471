"""A small news site, served on this machine, that is full of near-duplicate pages.

Its texts, with their near-duplicates as a crawler meets them, are its own; which page is a
near-duplicate of which is known and can be compared with what a crawl has found.
"""

from .build import build_site
from .manifest import Manifest
from .model import Page, Site
from .scoring import Score, score
from .server import DemoServer

__all__ = ["DemoServer", "Manifest", "Page", "Score", "Site", "build_site", "score"]
