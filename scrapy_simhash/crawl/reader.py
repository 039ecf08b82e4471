"""Reading settings: each kind of value once, and errors that name the setting."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.project import data_path

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.errors import SchemeError, SettingsError
from scrapy_simhash.extraction import find_extractor
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.manifest import DATABASES
from scrapy_simhash.scheme import PRESETS, Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.scheme import Preset

ALWAYS_TAGGED = ("kind", "representative", "distance", "fingerprint")
# Written only where they have a value, so that items that declare the others need not have them.
TAGGED_WHERE_KNOWN = ("similar_to", "similarity")
TAGGED_FIELDS = ALWAYS_TAGGED + TAGGED_WHERE_KNOWN
PRESET_FORMS = (
    f"one of {', '.join(map(repr, PRESETS))}, a dict of a preset and what differs, the path of a "
    "TOML file of the same, or the import path of a Scheme"
)
VERDICT_FIELDS = (*TAGGED_FIELDS, "canonical")


class SettingsReader:
    """Reads settings by type, and names the one that is wrong.

    :param defaults: by name; None stands for what the reader of the setting says.
    """

    def __init__(self, settings: BaseSettings, defaults: Mapping[str, Any]) -> None:
        self._settings = settings
        self._defaults = defaults

    def _value(self, name: str) -> Any:
        value = self._settings.get(name)
        return self._defaults[name] if value is None else value

    def is_set(self, name: str) -> bool:
        """Whether the user says something."""
        return self._value(name) is not None

    def boolean(self, name: str, *, unset: bool = False) -> bool:
        """True or False, in the words that Scrapy takes."""
        value = self._value(name)
        if value is None:
            return unset
        try:
            # getbool() knows the words that Scrapy takes for true and false.
            return self._settings.getbool(name, unset)
        except (ValueError, TypeError):
            raise SettingsError(name, value, "True or False") from None

    def choice(self, name: str, allowed: tuple[str, ...], *, unset: str | None = None) -> str:
        """One of some words."""
        value = self._value(name)
        if value is None and unset is not None:
            return unset
        if value not in allowed:
            raise SettingsError(name, value, "one of " + ", ".join(map(repr, allowed)))
        return cast("str", value)

    def whole(self, name: str, low: int, high: int, *, unset: int | None = None) -> int:
        """A whole number within limits."""
        value = self._value(name)
        if value is None and unset is not None:
            return unset
        allowed = f"a whole number from {low} to {high}"
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise SettingsError(name, value, allowed)
        try:
            number = int(value)  # settings from the command line are text
        except ValueError:
            raise SettingsError(name, value, allowed) from None
        if not low <= number <= high:
            raise SettingsError(name, value, allowed)
        return number

    def index_kind(self) -> str | None:
        """SIMHASH_INDEX, if its package is there."""
        name = "SIMHASH_INDEX"
        if self._value(name) is None:
            return None
        kind = self.choice(name, DATABASES)
        try:
            database_kind(kind)
        except SchemeError as error:
            raise SettingsError(name, kind, str(error)) from error
        return kind

    def plan(self, bits: int) -> TablePlan | None:
        """SIMHASH_TABLES: blocks, chosen ones and inner blocks, the last two optional."""
        name = "SIMHASH_TABLES"
        value = self._value(name)
        if value is None:
            return None
        parts = value.split(",") if isinstance(value, str) else value
        try:
            if isinstance(parts, int):
                parts = (parts,)
            if any(isinstance(part, (bool, float)) for part in parts):
                raise ValueError("not whole numbers")
            return TablePlan(bits, *map(int, parts))
        except (TypeError, ValueError) as error:
            raise SettingsError(
                name,
                value,
                "(blocks, chosen) or (blocks, chosen, inner blocks), as whole numbers that fit "
                f"{bits} bits ({error})",
            ) from error

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names."""
        if weights := self.field_weights(name):
            return tuple(field for field, _ in weights)
        try:
            values = self._settings.getlist(name, self._defaults[name])
        except (TypeError, ValueError):
            values = [None]
        if not all(isinstance(value, str) and value for value in values):
            raise SettingsError(name, self._value(name), "a list of field names")
        return tuple(values)

    def selectors(self, name: str) -> tuple[str, ...]:
        """A list of CSS selectors and XPaths."""
        values = value = self._value(name)
        if isinstance(value, str):  # from the command line; commas are part of CSS
            try:
                values = json.loads(value) if value.startswith("[") else [value]
            except ValueError:
                values = None
        if not isinstance(values, (list, tuple)) or not all(
            isinstance(selector, str) and selector for selector in values
        ):
            raise SettingsError(name, value, "a list of CSS selectors and XPaths")
        return tuple(values)

    def preset(self, name: str) -> tuple[str, Preset]:
        """The preset of a setting, and its name for messages."""
        value = self._value(name)
        try:
            return choose_preset(value)
        except SchemeError as error:
            raise SettingsError(name, value, f"{PRESET_FORMS} ({error})") from error

    def field_weights(self, name: str) -> tuple[tuple[str, float], ...]:
        """The weights of fields, where they are given in a dict; else ()."""
        value = self._value(name)
        try:
            if isinstance(value, str) and value.startswith("{"):
                value = json.loads(value)
            if not isinstance(value, (dict, BaseSettings)):
                return ()
            return Scheme(field_weights=tuple(value.items())).field_weights
        except ValueError as error:
            raise SettingsError(
                name, value, f"a list of field names, or a dict from them to weights ({error})"
            ) from error

    def scheme(self, scheme: Scheme) -> Scheme:
        """The preset's scheme with what the settings say of extraction."""
        extractor = self._value("SIMHASH_EXTRACTOR")
        if extractor is not None:
            scheme = self._changed(scheme, "SIMHASH_EXTRACTOR", extractor=extractor)
        select, remove = "SIMHASH_CONTENT_SELECT", "SIMHASH_CONTENT_REMOVE"
        scheme = self._changed(scheme, select, select=self.selectors(select))
        return self._changed(scheme, remove, remove=self.selectors(remove))

    def _changed(self, scheme: Scheme, name: str, **changes: Any) -> Scheme:
        try:
            changed = replace(scheme, **changes)
            find_extractor(changed.extractor)
        except SchemeError as error:
            raise SettingsError(name, self._value(name), str(error)) from error
        return changed

    def item_tags(self) -> Mapping[str, str]:
        """A dict from verdict fields to item fields."""
        return self.tags("SIMHASH_ITEM_TAGS", VERDICT_FIELDS)

    def share(self, name: str, *, unset: float | None = None) -> float:
        """Return a number from 0 to 1."""
        value = self._value(name)
        if value is None and unset is not None:
            return unset
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if isinstance(value, bool) or not 0 <= number <= 1:
            raise SettingsError(name, value, "a number from 0 to 1")
        return number

    def tags(self, name: str, fields: Sequence[str]) -> Mapping[str, str]:
        """A dict from fields of ours to item fields."""
        value = self._value(name)
        try:
            tags = dict(self._settings.getdict(name, self._defaults[name]))
        except (TypeError, ValueError):
            tags = {"": ""}
        if not all(
            field in fields and isinstance(item_field, str) and item_field
            for field, item_field in tags.items()
        ):
            raise SettingsError(
                name,
                value,
                "a dict from " + ", ".join(fields) + " to item fields; {} tags no items",
            )
        return MappingProxyType(tags)

    def path(self, name: str) -> Path:
        """A directory; a relative path is one in Scrapy's data directory."""
        value = self._value(name)
        if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
            raise SettingsError(name, value, "a path")
        try:
            path = Path(data_path(value))
        except NotConfigured:
            # Under Scrapyd there is a settings module, but no scrapy.cfg to find a project by.
            path = Path(".scrapy", value)
        return path.absolute()

    def file(self, name: str, spider_name: str) -> Path | None:
        """A file in a folder that is there; ``%(name)s`` is the spider's, ``%(time)s`` now."""
        value = self._value(name)
        if value is None:
            return None
        wanted = (
            "the path of a file, such as report.html or %(name)s-%(time)s.html, in a directory "
            "that is there; %% for %"
        )
        if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
            raise SettingsError(name, value, wanted)
        now = datetime.now(tz=timezone.utc).replace(microsecond=0, tzinfo=None).isoformat()
        parts = {"name": _file_name(spider_name), "time": now.replace(":", "-")}
        try:
            path = Path(str(value) % parts).absolute()
            if path.is_dir() or not path.parent.is_dir():
                raise ValueError("not the path of a file")
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise SettingsError(name, value, wanted) from error
        return path

    def directories(self, spider_name: str, *, pages: bool) -> tuple[Path, Path]:
        """Return the directories of pages and of items; the one that every crawl uses is made.

        ``SIMHASH_DIR/spiders/<name>`` and ``SIMHASH_DIR/spider-items/<name>``, or
        ``SIMHASH_DIR/shared`` and ``SIMHASH_DIR/shared-items``.

        :param pages: whether the crawl judges pages, or items alone.
        """
        value, base = self._value("SIMHASH_DIR"), self.path("SIMHASH_DIR")
        if self.boolean("SIMHASH_SHARED"):
            directory, item_directory = base / "shared", base / "shared-items"
        else:
            name = _file_name(spider_name)
            directory, item_directory = base / "spiders" / name, base / "spider-items" / name
        try:
            needed = directory if pages else item_directory
            needed.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = needed / ".manifest.json.writable"
            probe.touch()
            probe.unlink()
        except (OSError, ValueError) as error:
            raise SettingsError(
                "SIMHASH_DIR", value, f"a directory that can be made and written to ({error})"
            ) from error
        return directory, item_directory


def _file_name(spider_name: str) -> str:
    """A spider's name as one path component, different for different names."""
    quoted = quote(spider_name, safe=" ")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted
