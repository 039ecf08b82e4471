"""Rules of URLs in every store: kept, changed and deleted as a whole."""

from __future__ import annotations

import signal
import subprocess
import sys

from scrapy_simhash import open_index


def test_rules_are_kept_by_site(index):
    assert list(index.side_rows("url-rules")) == []
    index.change_side_row("url-rules", "example.com", lambda row: (row or b"") + b"1")
    index.change_side_row("url-rules", "bücher.example", lambda row: (row or b"") + b"2")
    index.change_side_row("url-rules", "example.com", lambda row: (row or b"") + b"3")
    index.change_side_row("url-rules", "", lambda _: b"every site")
    assert dict(index.side_rows("url-rules")) == {
        "": b"every site",
        "bücher.example": b"2",
        "example.com": b"13",
    }
    index.change_side_row("url-rules", "example.com", lambda _: None)
    index.change_side_row("url-rules", "example.com", lambda row: row)  # nothing stays nothing
    assert set(dict(index.side_rows("url-rules"))) == {"", "bücher.example"}
    assert len(index) == 0


def test_rules_survive_a_kill(kind, tmp_path):
    url = f"{kind}:{tmp_path / 'index'}"
    code = (
        "import os, signal, sys\n"
        "from scrapy_simhash import open_index\n"
        "open_index(sys.argv[1]).change_side_row('url-rules', 'example.com', lambda _: b'1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", code, url], check=False)
    assert child.returncode == -signal.SIGKILL
    with open_index(url) as index:
        assert index.side_rows("url-rules") == [("example.com", b"1")]
