"""The SIMHASH_* settings: parsed once, checked, and frozen.

Each setting is one field of `SimhashSettings`; `SETTINGS` has the defaults by name. The reference
in the documentation is checked against both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import quote

from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.errors import PlanError, SchemeError, SettingsError
from scrapy_simhash.extraction import find_extractor
from scrapy_simhash.index import SyncPolicy, TablePlan, choose_plan
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.manifest import DATABASES
from scrapy_simhash.policy import Policy, PolicyAction
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

    from scrapy_simhash.scheme import Scheme

_TAGGED_FIELDS = ("kind", "representative", "distance", "fingerprint")
_VERDICT_FIELDS = (*_TAGGED_FIELDS, "weak")

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "SIMHASH_ENABLED": False,
        "SIMHASH_ACTION": "drop",
        "SIMHASH_FOLLOW": None,
        "SIMHASH_DROP_WEAK": False,
        "SIMHASH_INCREMENTAL": False,
        "SIMHASH_RESET": False,
        "SIMHASH_PRESET": DEFAULT_PRESET,
        "SIMHASH_MAX_DISTANCE": None,
        "SIMHASH_EXTRACTOR": None,
        "SIMHASH_CONTENT_SELECT": [],
        "SIMHASH_CONTENT_REMOVE": [],
        "SIMHASH_DIR": "simhash",
        "SIMHASH_INDEX": None,
        "SIMHASH_EXPECTED_PAGES": DEFAULT_EXPECTED_PAGES,
        "SIMHASH_TABLES": None,
        "SIMHASH_SYNC": "everysec",
        "SIMHASH_SHARED": False,
        "SIMHASH_MIN_TOKENS": DEFAULT_MIN_TOKENS,
        "SIMHASH_MAX_BYTES": 8_000_000,
        "SIMHASH_ITEM_TAGS": {field: f"simhash_{field}" for field in _TAGGED_FIELDS},
        "SIMHASH_ITEM_FIELDS": [],
        "SIMHASH_ITEM_ACTION": None,
        "SIMHASH_DEBUG": False,
    }
)


@dataclass(frozen=True, kw_only=True)
class SimhashSettings:
    """What a crawl was told. Fields are named as the settings without ``SIMHASH_``.

    :param directory: of the index of pages.
    :param item_directory: of the index of items, made only where it is needed.
    :param scheme: of the preset, with the extractor and selectors of this crawl.
    :param index_kind: kind of database; None: what the directory holds, or the installed one.
    :param plan: of a new index's tables; None where they are chosen, or those that it has.
    :param item_tags: verdict field → item field.
    """

    policy: Policy
    item_action: PolicyAction
    reset: bool
    preset: str
    scheme: Scheme
    max_distance: int
    directory: Path
    item_directory: Path
    index_kind: str | None
    expected_pages: int
    plan: TablePlan | None
    sync: SyncPolicy
    min_tokens: int
    max_bytes: int
    item_tags: Mapping[str, str]
    item_fields: tuple[str, ...]
    debug: bool

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider_name: str) -> SimhashSettings:
        """Parse and check all settings. :raises SettingsError: naming the one that is wrong."""
        read = _Reader(settings)
        action = read.choice("SIMHASH_ACTION", ("drop", "tag"))
        item_action = read.choice("SIMHASH_ITEM_ACTION", ("drop", "tag"), unset=action)
        preset_name = read.choice("SIMHASH_PRESET", tuple(PRESETS))
        preset = PRESETS[preset_name]
        scheme = read.scheme(preset.scheme)
        max_distance = read.whole(
            "SIMHASH_MAX_DISTANCE", 0, preset.scheme.bits - 1, unset=preset.max_distance
        )
        expected_pages = read.whole("SIMHASH_EXPECTED_PAGES", 1, 1 << 32)
        plan = read.plan(preset.scheme.bits)
        try:
            if plan is None:
                choose_plan(preset.scheme.bits, max_distance, expected_pages)
        except PlanError as error:
            if max_distance == preset.max_distance:
                raise SettingsError(
                    "SIMHASH_PRESET",
                    preset_name,
                    "one that tables can serve, to crawl with; this one needs the linear scan of "
                    f"open_index('memory:'), or SIMHASH_TABLES ({error})",
                ) from error
            raise SettingsError("SIMHASH_MAX_DISTANCE", max_distance, str(error)) from error
        directory, item_directory = read.directories(spider_name)
        return cls(
            policy=Policy(
                action=cast("PolicyAction", action),
                follow=read.boolean("SIMHASH_FOLLOW", unset=action == "tag"),
                drop_weak=read.boolean("SIMHASH_DROP_WEAK"),
                incremental=read.boolean("SIMHASH_INCREMENTAL"),
            ),
            item_action=cast("PolicyAction", item_action),
            reset=read.boolean("SIMHASH_RESET"),
            preset=preset_name,
            scheme=scheme,
            max_distance=max_distance,
            directory=directory,
            item_directory=item_directory,
            index_kind=read.index_kind(),
            expected_pages=expected_pages,
            plan=plan,
            sync=cast("SyncPolicy", read.choice("SIMHASH_SYNC", get_args(SyncPolicy))),
            min_tokens=read.whole("SIMHASH_MIN_TOKENS", 1, 1_000_000),
            max_bytes=read.whole("SIMHASH_MAX_BYTES", 1, 1 << 40),
            item_tags=read.item_tags(),
            item_fields=read.names("SIMHASH_ITEM_FIELDS"),
            debug=read.boolean("SIMHASH_DEBUG"),
        )


def unknown_settings(settings: BaseSettings) -> list[str]:
    """Names that begin with SIMHASH_ and mean nothing: most likely misspelt."""
    return sorted(
        name for name in settings if str(name).startswith("SIMHASH_") and name not in SETTINGS
    )


def is_enabled(settings: BaseSettings) -> bool:
    """SIMHASH_ENABLED. :raises SettingsError: not a boolean."""
    return _Reader(settings).boolean("SIMHASH_ENABLED")


class _Reader:
    """Reads settings by type, and names the one that is wrong."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def _value(self, name: str) -> Any:
        value = self._settings.get(name)
        return SETTINGS[name] if value is None else value

    def boolean(self, name: str, *, unset: bool = False) -> bool:
        value = self._value(name)
        if value is None:
            return unset
        try:
            # getbool() knows the words that Scrapy takes for true and false.
            return self._settings.getbool(name, unset)
        except (ValueError, TypeError):
            raise SettingsError(name, value, "True or False") from None

    def choice(self, name: str, allowed: tuple[str, ...], *, unset: str | None = None) -> str:
        value = self._value(name)
        if value is None and unset is not None:
            return unset
        if value not in allowed:
            raise SettingsError(name, value, "one of " + ", ".join(map(repr, allowed)))
        return cast("str", value)

    def whole(self, name: str, low: int, high: int, *, unset: int | None = None) -> int:
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
        try:
            values = self._settings.getlist(name, SETTINGS[name])
        except (TypeError, ValueError):
            values = [None]
        if not all(isinstance(value, str) and value for value in values):
            raise SettingsError(name, self._value(name), "a list of field names")
        return tuple(values)

    def selectors(self, name: str) -> tuple[str, ...]:
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
        name = "SIMHASH_ITEM_TAGS"
        value = self._value(name)
        try:
            tags = dict(self._settings.getdict(name, SETTINGS[name]))
        except (TypeError, ValueError):
            tags = {"": ""}
        if not all(
            verdict_field in _VERDICT_FIELDS and isinstance(item_field, str) and item_field
            for verdict_field, item_field in tags.items()
        ):
            raise SettingsError(
                name,
                value,
                "a dict from verdict fields (" + ", ".join(_VERDICT_FIELDS) + ") to item fields; "
                "{} tags no items",
            )
        return MappingProxyType(tags)

    def directories(self, spider_name: str) -> tuple[Path, Path]:
        """Of pages and of items; that of pages is made if absent.

        ``SIMHASH_DIR/spiders/<name>`` and ``SIMHASH_DIR/spider-items/<name>``, or
        ``SIMHASH_DIR/shared`` and ``SIMHASH_DIR/shared-items``.
        """
        value = self._value("SIMHASH_DIR")
        if not isinstance(value, (str, Path)) or not str(value):
            raise SettingsError("SIMHASH_DIR", value, "a path")
        try:
            base = Path(data_path(value))
        except NotConfigured:
            # Under Scrapyd there is a settings module, but no scrapy.cfg to find a project by.
            base = Path(".scrapy", value)
        base = base.absolute()
        if self.boolean("SIMHASH_SHARED"):
            directory, item_directory = base / "shared", base / "shared-items"
        else:
            name = _file_name(spider_name)
            directory, item_directory = base / "spiders" / name, base / "spider-items" / name
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = directory / ".manifest.json.writable"
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
