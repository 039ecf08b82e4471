"""Check the URL of a Redis server, and remove the secrets from it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from scrapy_simhash.errors import SchemeError

SCHEMES = ("redis", "rediss", "unix")


def masked(url: str) -> str:
    """Return the URL of a server without user, password and query.

    :raises SchemeError: the URL is not that of a Redis server, or has a fragment.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        # "/" or "#" in a password cuts the URL in the wrong place, and a part of the password would
        # be taken for the path or the fragment.
        is_valid = parts.scheme == "unix" or (
            parts.scheme in SCHEMES and host and re.fullmatch("/?[0-9]*/?", parts.path)
        )
        if parts.fragment or not is_valid:
            raise ValueError
    except ValueError:
        # The message does not repeat the URL, because it may contain a password.
        raise SchemeError(
            "the URL of the Redis server is not valid: use redis://host:6379/0, rediss://… or "
            "unix://…, and write / as %2F and # as %23 in a password"
        ) from None
    if ":" in host:
        host = f"[{host}]"
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
