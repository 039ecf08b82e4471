"""Find the *slices*: packages in `scrapy_simhash.extras` that add to the core.

The core names none of them. The package of a slice says in its constant ``SLICE`` what it adds, by
import paths, so that code is loaded only if it is used. Without ``scrapy_simhash/extras``, all that
slices add is missing, and the rest works.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simhash.setting import Setting

_EXTRAS = "scrapy_simhash.extras"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """What the package of a slice adds. All values are import paths, unless said otherwise.

    :param switch: name of the setting that turns it on in a crawl; empty if no crawl uses it.
    :param settings: the rows of its settings.
    :param components: (setting of Scrapy, component, order in it): installed by the add-on.
    :param needs_pages: it cannot be used with SIMHASH_PAGES = False.
    :param needs_page_texts: its components need the texts of pages, which are else not kept.
    :param command: its `Command`, a subcommand of ``scrapy simhash``.
    """

    switch: str = ""
    settings: tuple[Setting, ...] = ()
    components: tuple[tuple[str, str, int], ...] = ()
    needs_pages: bool = False
    needs_page_texts: bool = False
    command: str = ""


@cache
def slices() -> tuple[Slice, ...]:
    """Return all slices that are installed, in alphabetical order of their packages."""
    spec = find_spec(_EXTRAS)
    folders = [] if spec is None else spec.submodule_search_locations
    names = sorted(module.name for module in pkgutil.iter_modules(folders))
    return tuple(import_module(f"{_EXTRAS}.{name}").SLICE for name in names)
