"""The type of a planted near-duplicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .text import Edit


@dataclass(frozen=True)
class Plant:
    """One near-duplicate: its kind, the name of the article it copies, and the edits to it."""

    kind: str
    source: str
    edits: tuple[Edit, ...]
