"""What is done to the bytes of a page: each mutation is a function of a page and a `Dice`.

Mutations add at most `Dice.budget` bytes, so that runs of many pages end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

_TAG = re.compile(rb"<[a-zA-Z][^<>]{0,200}>")
_PLACE = re.compile(rb"[<>]")
_TAGS = (
    *(b"div p span table tr td ul ol li dl a b i em font center form h1 article main".split()),
    *(b"section aside nav pre code blockquote select option button svg math iframe".split()),
    *(b"noscript template frameset head body html title object x-y o:p textarea".split()),
)
_RUNS = (
    *(b" ", b"\n", b"\t", b"\0", b"<", b">", b"&", b"&#", b"&#x", b'"', b"'", b"/", b"-", b";"),
    *(b"=", b",", b"a", b"A1", b"</", b"<!", b"<!--", b"-->", b"]]>", b"<?", b"&nbsp;", b"<br>"),
    *(b"<br>\n", b"<p>", b"\xff", b"\xc2\xa0", b"\xed\xa0\x80", b"\r\n", b"\x1f", b"{", b"(", b"."),
    *(
        text.encode()
        for text in (
            "茶",
            "ก",
            "あ",
            "\u0301",
            "\u200d",
            "🏴",
            "\ufeff",
            "\u2028",
            "é",
            "ﬃ",
            "\ufdfa",
        )
    ),
)
_REFERENCES = (
    b"&amp; &lt; &gt; &nbsp; &shy; &zwnj; &NotEqualTilde; &nope; &amp;amp;lt; &; &# &#; &#x; "
    b"&#0; &#1; &#31; &#127; &#128; &#159; &#xD800; &#57343; &#xFFFE; &#65535; &#x10FFFF; "
    b"&#x110000; &#99999999999999999999; &#x000000000041 &lt &copy2 &#65 &#x41g &e; &e9; &x;"
).split()
_SPRINKLED = (
    *(b"\0", b"\x0b", b"\x1b[31m", b"\x7f", b"\r", b"\xff", b"\xc0\x80", b"\xed\xa0\x80"),
    *(b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xef\xbf\xbe", b"\xe2\x80\xa8", b"\xc2\x85"),
    b"\xe2\x81\xa0",
)
_OPENERS = (
    *(b"<!--", b"<!--->", b"<![CDATA[", b"<!", b"<?php ", b"<?xml ", b"<script>", b"<style>"),
    *(b"<textarea>", b"<title>", b"<xmp>", b"<plaintext>", b"<noscript>", b"<svg>", b"<math>"),
    *(
        b"<select>",
        b"<table>",
        b"<frameset>",
        b"<template>",
        b"<iframe>",
        b"<noembed>",
        b"<a href=",
    ),
    *(
        b"<p class='",
        b'<div style="display:none',
        b"<",
        b"</",
        b"<p hidden>",
        b"<form>",
        b"<object>",
    ),
)


@dataclass(frozen=True)
class Dice:
    """What a mutation draws from.

    :param others: pages to splice with.
    :param budget: how many bytes a mutation may add.
    """

    rng: Random
    others: Sequence[tuple[str, bytes]]
    budget: int

    def place(self, page: bytes) -> int:
        """Anywhere, or where a tag begins or ends."""
        if self.rng.random() < 0.5:
            start = self.rng.randint(0, len(page))
            found = _PLACE.search(page, start)
            if found:
                return found.start() + (found.group() == b">")
        return self.rng.randint(0, len(page))

    def tag(self, page: bytes) -> re.Match[bytes] | None:
        """A tag of the page, if there is one near a random place."""
        return _TAG.search(page, self.rng.randint(0, len(page))) or _TAG.search(page)

    def count(self, unit_bytes: int) -> int:
        """How often to repeat something; small numbers as often as large ones."""
        most = max(self.budget // max(unit_bytes, 1), 1)
        return max(int(most ** self.rng.random()), 1)

    def insert(self, page: bytes, addition: bytes) -> bytes:
        """At a random place."""
        at = self.place(page)
        return page[:at] + addition + page[at:]

    def slice(self, page: bytes) -> tuple[int, int]:
        """Start and stop of a stretch, short ones as often as long ones."""
        start = self.place(page)
        return start, min(start + int((len(page) + 1) ** self.rng.random()), len(page))


def flip_bytes(page: bytes, dice: Dice) -> bytes:
    """Some bits, or bytes."""
    changed = bytearray(page)
    for _ in range(dice.count(64) if page else 0):
        at = dice.rng.randrange(len(changed))
        if dice.rng.random() < 0.5:
            changed[at] ^= 1 << dice.rng.randrange(8)
        else:
            changed[at] = dice.rng.choice(b"<>&;\"'/= \0\x80\xff-!")
    return bytes(changed)


def delete_slice(page: bytes, dice: Dice) -> bytes:
    """A stretch is gone."""
    start, stop = dice.slice(page)
    return page[:start] + page[stop:]


def insert_bytes(page: bytes, dice: Dice) -> bytes:
    """Bytes of any value."""
    return dice.insert(page, dice.rng.randbytes(dice.count(16)))


def duplicate_slice(page: bytes, dice: Dice) -> bytes:
    """A stretch again and again."""
    start, stop = dice.slice(page)
    piece = page[start:stop]
    return page[:stop] + piece * dice.count(len(piece)) + page[stop:]


def truncate(page: bytes, dice: Dice) -> bytes:
    """The connection broke."""
    return page[: dice.place(page)]


def cut_start(page: bytes, dice: Dice) -> bytes:
    """The end alone."""
    return page[dice.place(page) :]


def splice(page: bytes, dice: Dice) -> bytes:
    """The start of one page and the end of another."""
    other = dice.rng.choice(dice.others)[1]
    tail = other[dice.place(other) :][: dice.budget]
    return page[: dice.place(page)] + tail


def swap_slices(page: bytes, dice: Dice) -> bytes:
    """Two neighbouring stretches change places."""
    a, b, c = sorted(dice.place(page) for _ in range(3))
    return page[:a] + page[b:c] + page[a:b] + page[c:]


def repeat_tag(page: bytes, dice: Dice) -> bytes:
    """One of its tags, many times."""
    found = dice.tag(page)
    if found is None:
        return page
    return (
        page[: found.end()] + found.group() * dice.count(len(found.group())) + page[found.end() :]
    )


def nest(page: bytes, dice: Dice) -> bytes:
    """Elements in each other; closed, or not, or more often than opened."""
    tag = dice.rng.choice(_TAGS)
    depth = dice.count(2 * len(tag) + 5)
    text = dice.rng.choice((b"", b" words, and words. "))
    around = dice.rng.choice((page[slice(*dice.slice(page))], text))
    closed = dice.rng.choice((0, depth, depth, 2 * depth))
    return dice.insert(page, (b"<%b>" % tag + text) * depth + around + b"</%b>" % tag * closed)


def blow_up_attribute(page: bytes, dice: Dice) -> bytes:
    """One of a tag's attributes is long, or there are many."""
    found = dice.tag(page)
    if found is None:
        return page
    name = dice.rng.choice(
        (b"class", b"id", b"style", b"href", b"title", b"x", b"hidden", b"srcset")
    )
    unit = dice.rng.choice(
        (*_RUNS, b"comment ", b"display:none;", b"display: none !", b"; visibility:", b"x" * 99)
    )
    if dice.rng.random() < 0.3:
        many = b" ".join(b"%b%d=%b" % (name, n, unit) for n in range(dice.count(16 + len(unit))))
        addition = b" " + many
    else:
        quote = dice.rng.choice((b'"', b"'", b""))
        addition = b" " + name + b"=" + quote + unit * dice.count(len(unit)) + quote
    at = found.end() - 1
    return page[:at] + addition + page[at:]


def long_run(page: bytes, dice: Dice) -> bytes:
    """One character, many times."""
    unit = dice.rng.choice(_RUNS)
    return dice.insert(page, unit * dice.count(len(unit)))


def storm_of_references(page: bytes, dice: Dice) -> bytes:
    """Character references, right and wrong ones."""
    chosen = dice.rng.choices(_REFERENCES, k=dice.rng.randint(1, 12))
    storm = dice.rng.choice((b"", b" ", b"a")).join(chosen)
    return dice.insert(page, storm * dice.count(len(storm)))


def many_elements(page: bytes, dice: Dice) -> bytes:
    """Small elements side by side, of one or two kinds."""
    tags = dice.rng.choices(_TAGS, k=dice.rng.randint(1, 2))
    text = dice.rng.choice((b"", b"a", b" word, ", b"<br>", "茶".encode(), b"&nbsp;", b"<!---->"))
    between = dice.rng.choice((b"", b"b", b"\n", b"words, and words. "))
    unit = b"".join(b"<%b>%b</%b>%b" % (tag, text, tag, between) for tag in tags)
    return dice.insert(page, unit * dice.count(len(unit)))


def leave_open(page: bytes, dice: Dice) -> bytes:
    """A comment, a script or an attribute that does not end."""
    return dice.insert(page, dice.rng.choice(_OPENERS))


def add_doctype(page: bytes, dice: Dice) -> bytes:
    """Entities of its own, and files and addresses that nobody should open."""
    levels = dice.rng.randint(2, 20)
    entities = b'<!ENTITY e0 "words">' + b"".join(
        b'<!ENTITY e%d "%b">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, levels)
    )
    start = dice.rng.choice(
        (
            b"<!DOCTYPE html [" + entities + b'<!ENTITY e SYSTEM "file:///etc/hostname">]>',
            b'<!DOCTYPE html SYSTEM "http://127.0.0.1:9/x.dtd">',
            b'<!DOCTYPE html [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;]>',
            b"<!DOCTYPE html [" + entities,
        )
    )
    declaration = dice.rng.choice((b"", b'<?xml version="1.0"?>', b"\xef\xbb\xbf"))
    return declaration + start + dice.insert(page, b"&e9; &e; " * dice.count(9))


def sprinkle(page: bytes, dice: Dice) -> bytes:
    """NULs, control characters or broken UTF-8 all over the page."""
    unit = dice.rng.choice(_SPRINKLED)
    step = max(len(page) // dice.count(2 * len(unit)), 1)
    return unit.join(page[at : at + step] for at in range(0, len(page), step))


def drop_ends(page: bytes, dice: Dice) -> bytes:
    """No element is closed, or none of a kind."""
    names = re.findall(rb"</([a-zA-Z0-9]+)>", page)
    kind = dice.rng.choice((rb"[a-zA-Z0-9]+", dice.rng.choice(names or [b"p"])))
    return re.sub(rb"</" + kind + rb">", b"", page)


def rename_tags(page: bytes, dice: Dice) -> bytes:
    """All elements of a kind become another."""
    found = dice.tag(page)
    if found is None:
        return page
    name = re.match(rb"<([a-zA-Z0-9]+)", found.group())
    if name is None:
        return page
    return re.sub(rb"(</?)" + name[1] + rb"(?![a-zA-Z0-9])", rb"\1" + dice.rng.choice(_TAGS), page)


def shuffle_tags(page: bytes, dice: Dice) -> bytes:
    """The same tags in another order."""
    tags = _TAG.findall(page)
    dice.rng.shuffle(tags)
    rest = iter(tags)
    return _TAG.sub(lambda _: next(rest), page)


MUTATIONS: Mapping[str, Callable[[bytes, Dice], bytes]] = {
    function.__name__.replace("_", " "): function
    for function in (
        *(flip_bytes, delete_slice, insert_bytes, duplicate_slice, truncate, cut_start, splice),
        *(swap_slices, repeat_tag, nest, blow_up_attribute, long_run, storm_of_references),
        *(many_elements, leave_open, add_doctype, sprinkle, drop_ends, rename_tags, shuffle_tags),
    )
}
