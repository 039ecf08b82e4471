"""Check the URL of a Redis server, and remove the secrets from it."""

from __future__ import annotations

from urllib.parse import urlsplit

from scrapy_simhash.errors import SchemeError

SCHEMES = ("redis", "rediss", "unix")


def masked(url: str) -> str:
    """Return the URL of a server without user, password and query.

    :raises SchemeError: the URL is not that of a Redis server.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES or not (parts.hostname or parts.scheme == "unix"):
            raise ValueError
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        # The message does not repeat the URL, because it may contain a password.
        raise SchemeError(
            "the URL of the Redis server is not valid: use redis://host:6379/0, rediss://… or "
            "unix://…"
        ) from None
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
