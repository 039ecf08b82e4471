"""Read settings by type, with errors that name the setting."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.project import data_path

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.crawl.settings_table import all_settings
from scrapy_simhash.errors import SchemeError, SettingsError
from scrapy_simhash.extraction import find_extractor
from scrapy_simhash.extraction.selectors import compiled_values
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.scheme import PRESETS, Scheme
from scrapy_simhash.setting import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.scheme import Preset

# Written only if they have a value. With the default tags, item classes need not declare them.
TAGGED_WHERE_KNOWN = ("similar_to", "similarity")
TAGGED_FIELDS = ("kind", "representative", "distance", "fingerprint", *TAGGED_WHERE_KNOWN)
VERDICT_FIELDS = (*TAGGED_FIELDS, "canonical")
DEFAULT_TAGS: Mapping[str, str] = MappingProxyType(
    {field: f"simhash_{field}" for field in TAGGED_FIELDS}
)


class SettingsReader:
    """A reader of the settings in `all_settings`. :raises SettingsError: a value is invalid."""

    def __init__(self, settings: BaseSettings) -> None:
        self._given = settings

    def __call__(self, name: str, *, unset: object = None) -> Any:
        """Return the value of a setting in its type.

        :param unset: returned if the setting is not set, and has no default.
        """
        value = all_settings()[name].parse(self._given.get(name))
        return unset if value is None else value

    def value(self, name: str) -> Any:
        """Return the value of a setting as it was given, or its default."""
        value = self._given.get(name)
        return all_settings()[name].default if value is None else value

    def max_distance(self, bits: int, unset: int) -> int:
        """Return k for fingerprints of a width; `unset` if SIMHASH_MAX_DISTANCE is not set."""
        name = "SIMHASH_MAX_DISTANCE"
        setting = replace(all_settings()[name], kind=whole(0, bits - 1), default=unset)
        k: int = setting.parse(self._given.get(name))
        return k

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names in a list, or the keys of a dict of weights."""
        if weights := self.field_weights(name):
            return tuple(field for field, _ in weights)
        try:
            values = _list(self.value(name))
        except (TypeError, ValueError):
            values = [None]
        if not all(isinstance(value, str) and value for value in values):
            raise SettingsError(name, self.value(name), "must be a list of field names")
        return tuple(values)

    def field_weights(self, name: str) -> tuple[tuple[str, float], ...]:
        """Return the (field, weight) pairs of a dict or JSON object; () for other values."""
        value = self.value(name)
        try:
            if isinstance(value, str) and value.startswith("{"):
                value = json.loads(value)
            if not isinstance(value, (dict, BaseSettings)):
                return ()
            return Scheme(field_weights=tuple(value.items())).field_weights
        except ValueError as error:
            raise SettingsError(
                name,
                value,
                f"must be a list of field names, or a dict from field names to weights ({error})",
            ) from error

    def tags(self, name: str, fields: Sequence[str]) -> Mapping[str, str]:
        """Return a dict whose keys are some of `fields`, and whose values are item fields.

        If the setting is None, the dict is `DEFAULT_TAGS`.
        """
        if self.value(name) is None:
            return DEFAULT_TAGS
        try:
            tags = _dict(self.value(name))
        except (TypeError, ValueError):
            tags = {"": ""}  # invalid
        if not all(
            field in fields and isinstance(item_field, str) and item_field
            for field, item_field in tags.items()
        ):
            raise SettingsError(
                name,
                self.value(name),
                "must be a dict from " + ", ".join(fields) + " to item fields; {} tags no items",
            )
        return MappingProxyType(tags)

    def index_kind(self) -> str | None:
        """Return the kind of database in SIMHASH_INDEX; None if that is "redis" or not set."""
        name = "SIMHASH_INDEX"
        kind: str | None = self(name)
        if kind in (None, "redis"):
            return None
        try:
            database_kind(kind)
        except SchemeError as error:
            raise SettingsError(name, kind, str(error)) from error
        return kind

    def preset(self, name: str) -> tuple[str, Preset]:
        """Return (name of the preset for messages, preset)."""
        value = self.value(name)
        try:
            return choose_preset(value)
        except SchemeError as error:
            raise SettingsError(
                name,
                value,
                f"must be one of {', '.join(map(repr, PRESETS))}, a dict of a preset and the "
                "parameters that differ, the path of a TOML file of the same, or the import path "
                f"of a Scheme or Preset ({error})",
            ) from error

    def scheme(self, scheme: Scheme) -> Scheme:
        """Return a preset's scheme with the extractor and the selectors of the settings."""
        if self.value("SIMHASH_EXTRACTOR") is not None:
            name = "SIMHASH_EXTRACTOR"
            scheme = self._changed(scheme, name, extractor=self.value(name))
        select, remove = "SIMHASH_CONTENT_SELECT", "SIMHASH_CONTENT_REMOVE"
        scheme = self._changed(scheme, select, select=self._selectors(select))
        return self._changed(scheme, remove, remove=self._selectors(remove))

    def distinct_by(self) -> tuple[str, ...]:
        """Return SIMHASH_DISTINCT_BY: fields of items, which are single words, and selectors."""
        name = "SIMHASH_DISTINCT_BY"
        given = self.value(name)
        words = given.split(",") if isinstance(given, str) else [""]
        fields = tuple(word.strip() for word in words)
        # From the command line, as Scrapy reads lists; other commas are part of CSS.
        values = fields if all(map(str.isidentifier, fields)) else self._selectors(name)
        try:
            for value in values:
                if not value.isidentifier():
                    compiled_values(value)
        except SchemeError as error:
            raise SettingsError(name, self.value(name), str(error)) from error
        return values

    def _selectors(self, name: str) -> tuple[str, ...]:
        values = value = self.value(name)
        if isinstance(value, str):  # from the command line; commas are part of CSS
            try:
                values = json.loads(value) if value.startswith("[") else [value]
            except ValueError:
                values = None
        if not isinstance(values, (list, tuple)) or not all(
            isinstance(selector, str) and selector for selector in values
        ):
            raise SettingsError(
                name,
                value,
                "must be a list of CSS selectors and XPaths (with -s, as JSON)",
            )
        return tuple(values)

    def _changed(self, scheme: Scheme, name: str, **changes: Any) -> Scheme:
        try:
            changed = replace(scheme, **changes)
            find_extractor(changed.extractor)
        except SchemeError as error:
            raise SettingsError(name, self.value(name), str(error)) from error
        return changed

    def path(self, name: str) -> Path:
        """Return an absolute path. A relative path is in Scrapy's data directory."""
        value = self(name)
        if not _may_be_path(value):
            raise SettingsError(name, value, "must be a path")
        try:
            path = Path(data_path(value))
        except NotConfigured:
            # Under Scrapyd, there is no scrapy.cfg to find the project.
            path = Path(".scrapy", value)
        return path.absolute()

    def file(self, name: str, spider_name: str) -> Path | None:
        """Return the absolute path of a file in an existing directory; None if it is not set.

        ``%(name)s`` is replaced by the name of the spider, ``%(time)s`` by the time in UTC.
        """
        value = self.value(name)
        if value is None:
            return None
        time = f"{datetime.now(timezone.utc):%Y-%m-%dT%H-%M-%S}"
        parts = {"name": _file_name(spider_name), "time": time}
        try:
            path = Path(str(value) % parts).absolute()
            if not _may_be_path(value) or path.is_dir() or not path.parent.is_dir():
                raise ValueError("not the path of a file")
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise SettingsError(
                name,
                value,
                "must be the path of a file, such as report.html or %(name)s-%(time)s.html, in an "
                "existing directory; write %% for %",
            ) from error
        return path

    def directories(self, spider_name: str, *, pages: bool, make: bool) -> tuple[Path, Path]:
        """Return the index directories of pages and of items.

        They are ``spiders/<name>`` and ``spider-items/<name>`` in SIMHASH_DIR, or ``shared`` and
        ``shared-items`` with SIMHASH_SHARED.

        :param pages: the crawl judges pages, not only items.
        :param make: create the directory of pages, or else of items, and try to write to it.
        """
        base = self.path("SIMHASH_DIR")
        if self("SIMHASH_SHARED"):
            directory, item_directory = base / "shared", base / "shared-items"
        else:
            name = _file_name(spider_name)
            directory, item_directory = base / "spiders" / name, base / "spider-items" / name
        if not make:
            return directory, item_directory
        try:
            needed = directory if pages else item_directory
            needed.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = needed / ".manifest.json.writable"
            probe.touch()
            probe.unlink()
        except (OSError, ValueError) as error:
            raise SettingsError(
                "SIMHASH_DIR",
                self.value("SIMHASH_DIR"),
                f"must be a directory that can be created and written to ({error})",
            ) from error
        return directory, item_directory


def _list(value: Any) -> list[Any]:
    """Return a list, as Scrapy reads one from a command line."""
    return BaseSettings({"list": value}).getlist("list")


def _dict(value: Any) -> dict[Any, Any]:
    return dict(BaseSettings({"dict": value}).getdict("dict"))


def _may_be_path(value: object) -> bool:
    return isinstance(value, (str, Path)) and bool(str(value)) and "\0" not in str(value)


def _file_name(spider_name: str) -> str:
    """Return a path component for a spider's name. Different names have different components."""
    quoted = quote(spider_name, safe=" ")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted
