"""The MIME type of a file, by the ending of its name: the same on each machine.

`mimetypes.guess_type` also reads the tables of the system, and each release of Python knows other
endings. What tells two pages apart must not depend on either.
"""

from __future__ import annotations

from functools import cache
from mimetypes import MimeTypes

# Endings that not all supported releases of Python know.
_FURTHER = {
    "application/epub+zip": ".epub",
    "application/geo+json": ".geojson",
    "application/gpx+xml": ".gpx",
    "application/rtf": ".rtf",
    "application/vnd.android.package-archive": ".apk",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.rar": ".rar",
    "application/x-7z-compressed": ".7z",
    "application/x-bittorrent": ".torrent",
    "application/x-iso9660-image": ".iso",
    "audio/flac": ".flac",
    "audio/midi": ".mid .midi",
    "audio/mp4": ".m4a",
    "audio/ogg": ".oga .ogg .opus",
    "image/avif": ".avif",
    "image/heic": ".heic",
    "image/webp": ".webp",
    "model/stl": ".stl",
    "video/matroska": ".mkv",
    "video/mp4": ".m4v",
    "video/ogg": ".ogv",
    "video/webm": ".webm",
}


def type_of(name: str) -> str:
    """Return the MIME type of a file name or URL; of a compressed file, that of its compression,
    such as ``application/gzip``; empty if it is unknown.
    """
    try:
        mime_type, encoding = _types().guess_type(name)
    except ValueError:  # a URL with brackets around something that is no IPv6 address
        return ""
    return f"application/{encoding}" if encoding else mime_type or ""


@cache
def _types() -> MimeTypes:
    types = MimeTypes()  # without the tables of the system
    for mime_type, endings in _FURTHER.items():
        for ending in endings.split():
            types.add_type(mime_type, ending)
    return types
