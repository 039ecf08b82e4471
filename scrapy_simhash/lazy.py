"""numpy and lxml, imported on first use.

A program that only reads settings, or that runs without the plugin, needs neither, and to import
them takes longer than everything else.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from lxml import etree
else:

    class _Lazy(ModuleType):
        """A module that is imported at the first access to one of its attributes."""

        def __getattr__(self, name: str) -> Any:
            module = import_module(self.__name__)
            self.__dict__.update(vars(module))
            return getattr(module, name)

    np = _Lazy("numpy")
    etree = _Lazy("lxml.etree")

__all__ = ["etree", "np"]
