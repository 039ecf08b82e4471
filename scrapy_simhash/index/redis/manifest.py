"""The manifest of an index in Redis: the parameters that it was created with, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_simhash.errors import IndexForeign, IndexMismatch
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.manifest import UNREADABLE, read_confirmation, read_parameters

if TYPE_CHECKING:
    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.scheme import Scheme

FORMAT_VERSION = 5
_FORMAT = "scrapy-simhash redis index"


@dataclass(frozen=True)
class RedisManifest:
    """The parameters that an index was created with.

    :param max_distance: k at creation.
    """

    scheme: Scheme
    plan: TablePlan
    max_distance: int
    confirmation: Confirmation

    database: ClassVar[str] = "redis"

    def to_json(self) -> str:
        """Return the manifest as text."""
        content = {
            "format": _FORMAT,
            "format_version": FORMAT_VERSION,
            "scheme": self.scheme.to_dict(),
            "plan": asdict(self.plan),
            "max_distance": self.max_distance,
            "confirmation": asdict(self.confirmation),
        }
        return json.dumps(content, sort_keys=True)

    @classmethod
    def from_json(cls, location: str, text: str | bytes) -> RedisManifest:
        """Return the manifest from its text.

        :raises IndexForeign: the text is not a manifest.
        :raises IndexMismatch: this release does not support its format version.
        :raises IndexCorrupt: it has impossible values.
        """
        try:
            content: Any = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"the format is {content['format']!r}")
        except UNREADABLE as error:
            raise IndexForeign(
                location,
                f"its manifest is not ours ({type(error).__name__}: {error}): choose another name; "
                "nothing was changed",
            ) from error
        try:
            version = content["format_version"]
            if version != FORMAT_VERSION:
                raise IndexMismatch(
                    location,
                    f"it has format version {version!r}, this release reads {FORMAT_VERSION}",
                    "export it with the release that made it, and import the file into an index "
                    "with another name; nothing was changed",
                    "format",
                )
            return cls(*read_parameters(content), read_confirmation(content))
        except IndexMismatch:
            raise
        except UNREADABLE as error:
            raise corrupt(
                location,
                f"its manifest: {type(error).__name__}: {error}",
                "restore a backup of the server, or choose another name",
            ) from error
