"""What a server needs to tell whether a page has changed: its ETag and Last-Modified.

They belong to the content that the index has under the page's key: to the entry with that number.
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Validators(NamedTuple):
    """The validators of the last handled response of a page.

    :param number: of the entry, see `Entry`.
    :param etag: empty if the response had none, as is `last_modified`.
    """

    number: int
    etag: str
    last_modified: str


def encode_validators(validators: Validators) -> bytes:
    """Return the row of a page."""
    return json.dumps(validators, separators=(",", ":")).encode()


def decode_validators(row: bytes) -> Validators:
    """Return the validators of a row. :raises ValueError: it cannot be read."""
    try:
        number, etag, last_modified = json.loads(row)
        return Validators(int(number), str(etag), str(last_modified))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"validators that cannot be read ({error})") from error
