"""Parse and format points in time for commands."""

from __future__ import annotations

import argparse
import re
import time
from datetime import datetime, timedelta, timezone

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def point_in_time(text: str) -> int:
    """Return the Unix time of an age such as ``30d``, or of a date such as ``2026-01-31``."""
    age = re.fullmatch(r"(\d{1,9})([smhdw])", text)
    try:
        if age:
            return int(time.time() - timedelta(**{_UNITS[age[2]]: int(age[1])}).total_seconds())
        point = datetime.fromisoformat(text)
        if point.tzinfo is None:
            point = point.replace(tzinfo=timezone.utc)
        return int(point.timestamp())
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither an age such as 36h, 30d or 8w, nor a date such as 2026-01-31 "
            "or 2026-01-31T18:00 (UTC)"
        ) from error


def shown_time(seconds: int) -> str:
    """Return a Unix time in UTC, to the second."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(sep=" ", timespec="seconds")
