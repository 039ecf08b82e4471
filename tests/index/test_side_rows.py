"""Rows beside the entries, in every store: kept, changed and deleted as a whole."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import get_args

from scrapy_simhash import open_index
from scrapy_simhash.index.base import SideKind


def test_rows_are_kept_by_name(index):
    assert list(index.side_rows("notes")) == []
    index.change_side_row("notes", "example.com", lambda row: (row or b"") + b"1")
    index.change_side_row("notes", "bücher.example", lambda row: (row or b"") + b"2")
    index.change_side_row("notes", "example.com", lambda row: (row or b"") + b"3")
    index.change_side_row("notes", "", lambda _: b"every site")
    assert dict(index.side_rows("notes")) == {
        "": b"every site",
        "bücher.example": b"2",
        "example.com": b"13",
    }
    index.change_side_row("notes", "example.com", lambda _: None)
    index.change_side_row("notes", "example.com", lambda row: row)  # nothing stays nothing
    assert set(dict(index.side_rows("notes"))) == {"", "bücher.example"}
    assert len(index) == 0


def test_a_row_is_replaced_only_if_it_is_the_expected_one(index):
    assert not index.replace_side_row("notes", "1", b"a", b"b")
    assert index.replace_side_row("notes", "1", None, b"a")
    assert not index.replace_side_row("notes", "1", None, b"b")
    assert index.side_row("notes", "1") == b"a"
    assert index.replace_side_row("notes", "1", b"a", b"b")
    assert len(index) == 0
    assert index.replace_side_row("notes", "1", b"b", None)
    assert list(index.side_rows("notes")) == []


def test_each_kind_has_its_own_rows(index):
    for kind in get_args(SideKind):
        index.change_side_row(kind, "http://example.com/\udcff", lambda _, kind=kind: kind.encode())
    for kind in get_args(SideKind):
        assert index.side_row(kind, "http://example.com/\udcff") == kind.encode()
        assert index.side_row(kind, "http://example.com/") is None
        assert list(index.side_rows(kind)) == [("http://example.com/\udcff", kind.encode())]


def test_rows_survive_a_kill(kind, tmp_path):
    url = f"{kind}:{tmp_path / 'index'}"
    code = (
        "import os, signal, sys\n"
        "from scrapy_simhash import open_index\n"
        "open_index(sys.argv[1]).change_side_row('notes', 'example.com', lambda _: b'1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", code, url], check=False)
    assert child.returncode == -signal.SIGKILL
    with open_index(url) as index:
        assert index.side_rows("notes") == [("example.com", b"1")]
