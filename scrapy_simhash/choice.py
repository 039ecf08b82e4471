"""Turn a user's choice (a name, mapping, TOML file or import path) into a `Preset`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.features import IDF_WEIGHTINGS
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, Preset, Scheme, preset, suggestion

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
# Users cannot choose the version: only a new release of this package changes it.
_PARAMETERS = [field.name for field in fields(Scheme) if field.name != "version"]
# Width of a scheme in bits → the preset that supplies k and confirmation.
_BY_WIDTH = {256: PRESETS["wide"], 64: PRESETS["classic"]}


def choose_preset(value: object) -> tuple[str, Preset]:
    """Return a name for messages, and the preset that a user asks for.

    :param value: one of

        - the name of a preset;
        - a mapping, or its JSON: ``preset`` (by default ``wide``), the parameters of its `Scheme`
          to change, and ``max_distance``, which is needed only if ``bits`` is changed to a width
          other than 64 or 256;
        - the path of a TOML file with such a mapping;
        - the import path of a `Preset`, or of a `Scheme` with 64 or 256 bits.
    :raises SchemeError: the value is none of these, cannot be read or imported, or is not valid.
    """
    if isinstance(value, Mapping):
        return _change_preset(value)
    if not isinstance(value, str):
        raise SchemeError(f"{value!r} is no preset")
    if value.startswith("{"):
        try:
            values = json.loads(value)
        except ValueError as error:
            raise SchemeError(f"{value!r} is no JSON object: {error}") from error
        return _change_preset(values)
    if value.endswith(".toml"):
        return value, _change_preset(_read_toml(Path(value)))[1]
    if _IMPORT_PATH.fullmatch(value):
        return value, _import_preset(value)
    return value, preset(value)


def _change_preset(values: Mapping[str, Any]) -> tuple[str, Preset]:
    """Return a name for messages, and a preset with changed parameters."""
    keys = ["preset", "max_distance", *_PARAMETERS]
    for key in values:
        if key not in keys:
            raise SchemeError(f"there is no parameter {key!r}{suggestion(key, keys)}")
    name = values.get("preset", DEFAULT_PRESET)
    base = preset(name)
    changes = {key: values[key] for key in _PARAMETERS if key in values}
    if isinstance(weights := changes.get("field_weights"), Mapping):
        changes["field_weights"] = tuple(weights.items())
    if changes.get("weighting", base.scheme.weighting) != base.scheme.weighting:
        # The base preset may have no IDF table, or one that the new weighting does not use.
        changes.setdefault("idf", "jieba" if changes["weighting"] in IDF_WEIGHTINGS else "")
    try:
        scheme = replace(base.scheme, **changes)
    except TypeError as error:
        raise SchemeError(str(error)) from error
    return f"{name}, changed", _fitted(scheme, base, values.get("max_distance"))


def _fitted(scheme: Scheme, base: Preset, k: object) -> Preset:
    """Return a preset with a scheme; k and confirmation, if not given, are those of the base, or of
    the preset with the width of the scheme.
    """
    defaults = base if scheme.bits == base.scheme.bits else _BY_WIDTH.get(scheme.bits)
    if k is None and defaults is not None:
        k = defaults.max_distance
    if type(k) is not int or not 0 <= k < scheme.bits:
        raise SchemeError(
            f"max_distance={k!r}: a whole number from 0 to {scheme.bits - 1} is needed for "
            f"fingerprints of {scheme.bits} bits"
        )
    defaults = defaults or Preset(scheme=scheme, max_distance=k, source="")
    return replace(defaults, scheme=scheme, max_distance=k)


def _read_toml(path: Path) -> Mapping[str, Any]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        values: dict[str, Any] = toml.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SchemeError(f"{path} cannot be read as TOML: {error}") from error
    return values


def _import_preset(path: str) -> Preset:
    module, _, attribute = path.rpartition(".")
    try:
        value = getattr(import_module(module), attribute)
    except Exception as error:  # a user's module may raise anything
        raise SchemeError(f"{path} cannot be imported ({type(error).__name__}: {error})") from error
    if isinstance(value, Preset):
        return value
    if not isinstance(value, Scheme):
        raise SchemeError(f"{path} is neither a Scheme nor a Preset, but {type(value).__name__}")
    try:
        return _fitted(value, PRESETS[DEFAULT_PRESET], None)
    except SchemeError as error:
        raise SchemeError(f"{error}; for a Scheme, a Preset gives it") from error
