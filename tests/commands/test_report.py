"""``report``: where the page goes, and what is said if it cannot."""

import json
from pathlib import Path

import pytest

from scrapy_simhash import open_index

END = "</html>"
ORIGINAL = 0x123456789ABCDEF0
needs_devices = pytest.mark.skipif(
    not Path("/dev/stdout").exists() or not Path("/dev/full").exists(), reason="there are none"
)


@pytest.fixture
def index(folder):
    """Of two pages, a near-duplicate of one another; its options."""
    with open_index(folder / "index") as opened:
        opened.confirm(opened.observe("https://a.example/船", ORIGINAL))
        opened.observe("https://a.example/copy", ORIGINAL ^ 1)
    return "--index", "index"


def is_a_page(text):
    return text.startswith("<!DOCTYPE html>") and text.rstrip().endswith(END)


def test_it_is_a_file(run, index, folder):
    ran = run("report", *index)
    assert (ran.code, ran.err) == (0, "")
    assert "file             simhash-report.html\nrepresentatives  1\n" in ran.out
    assert is_a_page((folder / "simhash-report.html").read_text(encoding="utf-8"))
    ran = run("report", *index, "--json", "other.html")
    assert (json.loads(ran.out)["file"], ran.err) == ("other.html", "")
    assert {path.name for path in folder.iterdir()} == {
        "index",
        "simhash-report.html",
        "other.html",
    }


@needs_devices
def test_errors_name_what_was_asked_for(run, index, folder):
    for name, why in (("/dev/full", "No space left"), ("x" * 256, "name too long")):
        ran = run("report", *index, name)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith(f"error: {name} cannot be read or written: ")
        assert why in ran.err
    (folder / "link.html").symlink_to("gone/report.html")
    ran = run("report", *index, "link.html")
    assert ran.err == "error: link.html cannot be read or written: No such file or directory\n"
    (folder / "loop.html").symlink_to("loop.html")
    ran = run("report", *index, "loop.html")
    assert ran.err.endswith(
        "loop.html cannot be read or written: Too many levels of symbolic links\n"
    )
    for name, why in (
        (".", "name a file to write"),
        ("", "the file name is empty"),
        ("-", "name a file"),
        ("news", "--spider NAME chooses a spider"),
    ):
        ran = run("report", *index, name)
        assert (ran.code, ran.out) == (1, "")
        assert why in ran.err
    assert {path.name for path in folder.iterdir()} == {"index", "link.html", "loop.html"}
