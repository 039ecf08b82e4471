"""A small news site, served on this machine, that is full of near-duplicate pages.

Its texts were written for it. Pages that are near-duplicates of each other are a *family*, so that
`score` can compare the result of a crawl with the families. manifest.json lists them for readers.
"""

from .build import build_site
from .manifest import Manifest
from .model import Page, Site
from .scoring import Score, score
from .server import DemoServer

__all__ = ["DemoServer", "Manifest", "Page", "Score", "Site", "build_site", "score"]
