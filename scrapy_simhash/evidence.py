"""Evidence: what an index knows of a page besides its fingerprint, and how it is written as bytes.

Entries of all stores, the journal of `dedupe`, the answers of workers, exports and DataFrames have
evidence in the same form: a sequence of parts, each a tag (1 byte: the number of the field, from
1), a length in LEB128 and as many bytes; a zero byte ends it. Empty fields are left out. Numbers
are big-endian, without leading zeros. Readers skip tags that they do not know, so a further field
needs no new format.
"""

from __future__ import annotations

from typing import NamedTuple


class Evidence(NamedTuple):
    """The properties of a page, besides its fingerprint, that decide what is a copy.

    :param sketch: sketch of the text, see `scrapy_simhash.sketch`; empty if there is none.
    :param site: the `site_number` of the page's site; 0 if unknown.
    :param title: the page's title, and `heading` its headings, as `page_names` returns them.
    :param certainty: see `scrapy_simhash.fingerprint.Fingerprint`; empty if unknown. An index uses
        the certainty to choose its probes, and does not store it.
    :param content: decides whether the page is unchanged in a later crawl, see `content_bytes`.
    :param identity: what the page declares as its identity, see `identity_bytes`; or empty.
    :param links: sketch of the targets of the page's own links; empty if it has few.
    :param request: 8-byte hash of what the page's callback is called with; empty if unknown, or
        `UNLIKE_ANY`.
    :param depth: depth of the request in the crawl; 0 for a start request, and if unknown.
    :param label: the heading or title of the page for people, in UTF-8, at most 60 bytes.
    """

    sketch: bytes = b""
    site: int = 0
    title: bytes = b""
    heading: bytes = b""
    certainty: bytes = b""
    content: bytes = b""
    identity: bytes = b""
    links: bytes = b""
    request: bytes = b""
    depth: int = 0
    label: bytes = b""


NO_EVIDENCE = Evidence()
UNLIKE_ANY = b"\xff" * 8
"""The `Evidence.request` of a callback that is called with an object that cannot be compared."""
_LABEL_BYTES = 60
_END = b"\0"
_NUMBERS = frozenset(at for at, value in enumerate(NO_EVIDENCE, 1) if isinstance(value, int))
_FIELDS = len(NO_EVIDENCE)


def label_of(name: str) -> bytes:
    """Return a name as an `Evidence.label`, cut if it is longer."""
    line = " ".join(name.split())[:_LABEL_BYTES].encode("utf-8", "replace")
    if len(line) <= _LABEL_BYTES:
        return line
    return line[: _LABEL_BYTES - 3].decode("utf-8", "ignore").encode() + "…".encode()


def same_request(one: Evidence, other: Evidence) -> bool:
    """Return True if the callbacks of two pages are called with the same arguments, or it is
    unknown of a page what its callback is called with.
    """
    is_unknown = not one.request or not other.request
    return is_unknown or one.request == other.request != UNLIKE_ANY


def encode_evidence(evidence: Evidence) -> bytes:
    """Return evidence as bytes; a single zero byte for no evidence."""
    if evidence is NO_EVIDENCE:
        return _END
    encoded = bytearray()
    values: tuple[bytes | int, ...] = evidence
    for tag, value in enumerate(values, 1):
        if value:
            part = (
                value
                if isinstance(value, bytes)
                else value.to_bytes(-(-value.bit_length() // 8), "big")
            )
            encoded.append(tag)
            encoded += varint(len(part))
            encoded += part
    return bytes(encoded) + _END


def read_evidence(value: bytes, at: int) -> tuple[Evidence, int]:
    """Return the evidence that begins at a position, and the position after it.

    :raises ValueError: the value is cut short.
    """
    if value[at : at + 1] == _END:
        return NO_EVIDENCE, at + 1
    fields: list[bytes | int] = list(NO_EVIDENCE)
    try:
        while tag := value[at]:
            length, start = read_varint(value, at + 1)
            at = start + length
            if tag <= _FIELDS:
                part = value[start:at]
                fields[tag - 1] = int.from_bytes(part, "big") if tag in _NUMBERS else part
    except IndexError:
        raise ValueError("the evidence of a page is cut short") from None
    return Evidence._make(fields), at + 1


def decode_evidence(value: bytes) -> Evidence:
    """Return the evidence that `encode_evidence` encoded; none for no bytes.

    :raises ValueError: the value is cut short, or goes on after its end.
    """
    if not value:
        return NO_EVIDENCE
    evidence, end = read_evidence(value, 0)
    if end != len(value):
        raise ValueError("the evidence of a page has bytes after its end")
    return evidence


def varint(number: int) -> bytes:
    """Return a number as LEB128. If it is negative, because a clock was set back, return 0."""
    if number <= 0:
        return b"\0"
    encoded = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(value: bytes, at: int) -> tuple[int, int]:
    """Return (number, position after it). :raises IndexError: the value ends within the number."""
    number = shift = 0
    while True:
        byte = value[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the last byte
            return number, at
        shift += 7
