"""The type of a planted near-duplicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .text import Edit


@dataclass(frozen=True)
class Plant:
    """A near-duplicate: its kind, the name of its article, and the edits of the article's text."""

    kind: str
    source: str
    edits: tuple[Edit, ...]
