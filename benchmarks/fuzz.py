"""Process many mutated pages from bytes to verdict, and report exceptions, hangs and crashes.

The pages are the ``.html`` files of folders, or generated (``quality_lib/templates``). Mutations
flip bytes, delete, repeat and nest parts of a page, and declare wrong encodings. Scrapy decodes
each page; then it is fingerprinted and looked up in an index. The same seed, number and folders
give the same page: ``--only NUMBER`` processes one page and prints the result.

    python benchmarks/fuzz.py [FOLDER…] [--pages 100000] [--seed 1]

The exit status is 1 if an exception escaped, a page took longer than ``--timeout-s``, or the
process died.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from common import body_of
from quality_lib.templates import families
from scrapy.http import HtmlResponse

from scrapy_simhash import Detector, Scheme, open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

MAX_BYTES = 60_000
_START_UP_S = 120.0
_TAG = re.compile(rb"<[a-zA-Z][^<>]{0,200}>")
_TAGS = (
    b"div p span table tr td ul li a b font center form h1 article main aside nav pre select "
    b"option svg math iframe noscript template frameset head body title object textarea"
).split()
_RUNS = (
    "< > & &# &#x \" ' / - ; = , a </ <! <!-- --> ]]> <? &nbsp; <br> <p> \0 \x1f \t \r\n { ( . 茶 "
    "ก あ \u0301 \u200d 🏴 \ufeff \u2028 ﬃ \ufdfa &#xD800; &#0; &#x110000; &amp;amp;lt; <![CDATA[ "
    "<script> <style> <textarea> <title> <xmp> <plaintext> <svg> <table> <a\xa0href= <p\xa0class='"
).split(" ")
_CODECS = (
    "utf-8 utf-16 utf-16-le utf-32 utf-7 gb18030 big5 shift_jis euc-jp iso-2022-jp euc-kr koi8-r "
    "cp1252 iso-8859-8 cp437 utf-8-sig cp037 klingon base64 punycode undefined"
).split()
_KEYS = ("../" * 40 + "etc/passwd", "nul\0", "\ud800", "\x1b[2J\r\n", "茶" * 5000)


class Case(NamedTuple):
    """A page as a server sends it, its key in the index, and what was done to it."""

    body: bytes
    charset: str
    key: str
    steps: str


class Outcome(NamedTuple):
    """The kind of a verdict, why it was skipped, and the traceback of an exception that escaped."""

    kind: str
    reason: str = ""
    escaped: str = ""


def _part(page: bytes, dice: Random) -> tuple[int, int]:
    """Return start and stop of a part of the page; short ones are as frequent as long ones."""
    start = dice.randint(0, len(page))
    return start, min(start + int((len(page) + 1) ** dice.random()), len(page))


def _times(unit: bytes, dice: Random) -> bytes:
    """Repeat a unit; small numbers are as frequent as large ones."""
    return unit * int(max(MAX_BYTES // max(len(unit), 1), 1) ** dice.random())


def _inserted(page: bytes, addition: bytes, dice: Random) -> bytes:
    at = dice.randint(0, len(page))
    return page[:at] + addition + page[at:]


def flip_bytes(page: bytes, dice: Random) -> bytes:
    """Replace bytes by others."""
    changed = bytearray(page)
    for _ in range(int(1000 ** dice.random()) if page else 0):
        changed[dice.randrange(len(changed))] = dice.choice(b"<>&;\"'/= \0\x80\xff-!")
    return bytes(changed)


def delete_part(page: bytes, dice: Random) -> bytes:
    """Delete a part, often the start or the end."""
    start, stop = dice.choice([_part(page, dice), (0, dice.randint(0, len(page)))])
    return page[:start] if dice.random() < 0.2 else page[:start] + page[stop:]


def repeat_part(page: bytes, dice: Random) -> bytes:
    """Repeat a part, or a tag, many times."""
    tag = _TAG.search(page, dice.randint(0, len(page)))
    start, stop = tag.span() if tag and dice.random() < 0.5 else _part(page, dice)
    return page[:stop] + _times(page[start:stop], dice) + page[stop:]


def swap_parts(page: bytes, dice: Random) -> bytes:
    """Exchange two neighbouring parts."""
    a, b, c = sorted(dice.randint(0, len(page)) for _ in range(3))
    return page[:a] + page[b:c] + page[a:b] + page[c:]


def nest(page: bytes, dice: Random) -> bytes:
    """Nest elements, closed or not."""
    tag = dice.choice(_TAGS)
    opened = _times(b"<%b>" % tag + dice.choice((b"", b" words, and words. ")), dice)
    closed = b"</%b>" % tag * dice.choice((0, opened.count(b"<")))
    start, stop = _part(page, dice)
    return page[:start] + opened + page[start:stop] + closed + page[stop:]


def enlarge_attributes(page: bytes, dice: Random) -> bytes:
    """Give a tag a long attribute, or many."""
    tag = _TAG.search(page, dice.randint(0, len(page)))
    if tag is None:
        return page
    name = dice.choice(b"class id style href title x hidden srcset".split())
    unit = dice.choice((b"comment ", b"display:none;", b"visibility:", b"x" * 99))
    many = b" ".join(b"%b%d=x" % (name, n) for n in range(int(3000 ** dice.random())))
    addition = dice.choice((many, name + b'="' + _times(unit, dice) + b'"'))
    return page[: tag.end() - 1] + b" " + addition + page[tag.end() - 1 :]


def insert_run(page: bytes, dice: Random) -> bytes:
    """Insert one character, reference or opening tag, many times."""
    unit = dice.choice(_RUNS).replace("\xa0", " ").encode()
    return _inserted(page, dice.choice((unit, _times(unit, dice), dice.randbytes(99))), dice)


def sprinkle(page: bytes, dice: Random) -> bytes:
    """Put control characters or broken UTF-8 between all parts of the page."""
    unit = dice.choice((b"\0", b"\x1b[31m", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xc2\x85"))
    step = max(len(page) // int(5000 ** dice.random()), 1)
    return unit.join(page[at : at + step] for at in range(0, len(page), step))


def shuffle_tags(page: bytes, dice: Random) -> bytes:
    """Put the same tags in another order, or delete all end tags."""
    if dice.random() < 0.5:
        return re.sub(rb"</[a-zA-Z0-9]+>", b"", page)
    tags = _TAG.findall(page)
    dice.shuffle(tags)
    rest = iter(tags)
    return _TAG.sub(lambda _: next(rest), page)


def add_doctype(page: bytes, dice: Random) -> bytes:
    """Declare entities that grow, and files and addresses that nothing may open."""
    growing = b"".join(b'<!ENTITY e%d "%b">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 20))
    entities = b'<!ENTITY e0 "words">' + growing + b'<!ENTITY e SYSTEM "file:///etc/hostname">'
    external = b'<!DOCTYPE html SYSTEM "http://127.0.0.1:9/x.dtd">'
    start = dice.choice((b"<!DOCTYPE html [" + entities + b"]>", external))
    return start + _inserted(page, b"&e9; &e; ", dice)


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(flip_bytes, delete_part, repeat_part, swap_parts, nest, enlarge_attributes, insert_run),
    *(sprinkle, shuffle_tags, add_doctype),
)


def read_pages(folders: Sequence[Path]) -> list[bytes]:
    """Return the pages of folders, or generated ones. :raises SystemExit: there are none."""
    if not folders:
        sites = (families.pages(family, seed=1)[:4] for family in families.FAMILIES)
        return [page.html.encode() for pages in sites for page in pages]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.htm*"))]
    bodies = [body_of(path) for path in paths if path.is_file()]
    if not bodies:
        raise SystemExit("no .html file in these folders")
    return bodies


def make_case(seed: int, number: int, pages: Sequence[bytes]) -> Case:
    """Return the case of a number: the same for the same pages and seed."""
    dice = Random(f"{seed}/{number}")
    page, steps = dice.choice(pages)[:MAX_BYTES], []
    for mutation in dice.choices(MUTATIONS, k=dice.choice((1, 1, 2, 2, 3, 5))):
        page = mutation(page, dice)[: 2 * MAX_BYTES]
        steps.append(mutation.__name__)
    charset = "utf-8"
    if dice.random() < 0.15:
        charset, codec = dice.choice(_CODECS), dice.choice(_CODECS[:17])
        page = page.decode("utf-8", "replace").encode(codec, "ignore")
        steps.append(f"encoded as {codec}, declared as {charset}")
    key = f"https://localhost/{number}"
    if dice.random() < 0.02:
        key = f"{dice.choice(_KEYS)}{number % 7}"
    return Case(page, charset, key, ", ".join(steps))


class Checker:
    """A detector and an index that process cases.

    :param index: URL of the index.
    """

    def __init__(self, index: str, extractor: str | None) -> None:
        scheme = Scheme.preset("wide")
        if extractor:
            scheme = replace(scheme, extractor=extractor)
        self._detector, self._index = Detector(scheme), open_index(index, scheme, max_distance=52)

    def check(self, case: Case) -> Outcome:
        """Process a case from bytes to verdict. Raises nothing."""
        header = {"Content-Type": f"text/html; charset={case.charset}"}
        try:
            html = HtmlResponse("https://localhost/", body=case.body, headers=header).text
        except Exception as error:  # noqa: BLE001 - Scrapy's
            return Outcome("not decoded", type(error).__name__)
        try:
            page = self._detector.fingerprint_page(html)
            verdict = self._detector.judge(self._index, case.key, page)
            if verdict.observation is not None:
                self._index.confirm(verdict.observation)
        except BaseException:  # noqa: BLE001 - SystemExit is a defect, too
            return Outcome("", "", traceback.format_exc())
        return Outcome(verdict.kind, verdict.reason or "")

    def close(self) -> None:
        """Close the index."""
        self._index.close()


def _work(pipe: Connection, numbers: range, arguments: argparse.Namespace) -> None:
    pages = read_pages(arguments.folders)
    checker = Checker("memory:", arguments.extractor)
    for number in numbers:
        pipe.send(number)
        pipe.send(checker.check(make_case(arguments.seed, number, pages)))
    pipe.close()


def run(arguments: argparse.Namespace) -> Iterator[tuple[int, Outcome]]:
    """Process all cases in a child process; after a hang or a crash, a new one goes on."""
    context = multiprocessing.get_context("spawn")
    at = arguments.first
    stop = at + arguments.pages
    while at < stop:
        pipe, end = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(end, range(at, stop), arguments), daemon=True)
        child.start()
        end.close()
        limit_s = _START_UP_S
        try:
            while at < stop and pipe.poll(limit_s):
                limit_s, at = arguments.timeout_s, pipe.recv()
                if not pipe.poll(limit_s):
                    break
                yield at, pipe.recv()
                at += 1
            if at < stop:
                yield at, Outcome("", "", f"no answer within {limit_s:g} s")
        except EOFError:
            child.join()
            yield at, Outcome("", "", f"the process ended with {child.exitcode}")
        finally:
            child.kill()
            child.join()
            pipe.close()
        at += 1


def main(argv: Sequence[str] | None = None) -> int:
    """Process the pages and print the results; return 1 if a page failed, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folders", nargs="*", type=Path, metavar="FOLDER", help="pages (default: generated)")
    add("--pages", type=lambda text: int(float(text)), default=100_000, metavar="N")
    add("--first", type=int, default=0, metavar="NUMBER", help="number of the first page")
    add("--seed", type=int, default=1)
    add("--timeout-s", type=float, default=10.0, help="a page that takes longer is a hang")
    add("--extractor", help="use another extractor than the preset's")
    add("--only", type=int, metavar="NUMBER", help="process only this page, in this process")
    arguments = parser.parse_args(argv)
    if arguments.only is not None:
        case = make_case(arguments.seed, arguments.only, read_pages(arguments.folders))
        print(case.steps, Checker("memory:", arguments.extractor).check(case), sep="\n")
        return 0
    counts: Counter[str] = Counter()
    began_s = time.monotonic()
    for number, outcome in run(arguments):
        counts[f"{outcome.kind} {outcome.reason}".strip() or "failed"] += 1
        if outcome.escaped:
            print(f"page {number}: {outcome.escaped}", flush=True)
    print(f"seed {arguments.seed}, {time.monotonic() - began_s:.0f} s")
    for name, count in counts.most_common():
        print(f"{name}: {count}")
    return int(bool(counts["failed"]))


if __name__ == "__main__":
    sys.exit(main())
