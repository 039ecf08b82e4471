"""Notes: rows beside the entries, in every store: kept, changed and deleted as a whole."""

import signal
import subprocess
import sys

from scrapy_simhash import open_index


def test_rows_are_kept_by_name(index):
    assert list(index.notes()) == []
    index.change_note("example.com", lambda row: (row or b"") + b"1")
    index.change_note("bücher.example", lambda row: (row or b"") + b"2")
    index.change_note("example.com", lambda row: (row or b"") + b"3")
    index.change_note("", lambda _: b"every site")
    assert dict(index.notes()) == {"": b"every site", "bücher.example": b"2", "example.com": b"13"}
    index.change_note("example.com", lambda _: None)
    index.change_note("example.com", lambda row: row)  # nothing stays nothing
    assert set(dict(index.notes())) == {"", "bücher.example"}
    assert len(index) == 0


def test_a_change_is_made_again_if_another_comes_between(index):
    seen = []

    def change(note):
        seen.append(note)
        if note is None:
            index.change_note("http://example.com/\udcff", lambda _: b"theirs")
        return (note or b"") + b" and ours"

    index.change_note("http://example.com/\udcff", change)
    assert seen == [None, b"theirs"]
    assert list(index.notes()) == [("http://example.com/\udcff", b"theirs and ours")]


def test_rows_survive_a_kill(kind, tmp_path):
    url = f"{kind}:{tmp_path / 'index'}"
    code = (
        "import os, signal, sys\n"
        "from scrapy_simhash import open_index\n"
        "open_index(sys.argv[1]).change_note('example.com', lambda _: b'1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", code, url], check=False)
    assert child.returncode == -signal.SIGKILL
    with open_index(url) as index:
        assert index.notes() == [("example.com", b"1")]
