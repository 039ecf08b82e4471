"""An index of passages."""

import gzip
import json

import pytest

from tests.commands.samples import CHINESE, FERRY, PAGE


@pytest.fixture
def filled(run, folder):
    """An index of four documents, by default in its default place."""
    (folder / "docs" / "sub").mkdir(parents=True)
    (folder / "docs" / "ferry.txt").write_text(FERRY)
    (folder / "docs" / "sub" / "notice.html").write_text(PAGE)
    (folder / "docs" / "z.md.gz").write_bytes(gzip.compress(b"The lighthouse keeper is asleep."))
    line = json.dumps({"url": "https://boats.example/", "text": CHINESE})
    (folder / "pages.jsonl").write_text(line + "\n")
    ran = run("passages", "add", "docs", "pages.jsonl")
    assert ran.code == 0, ran.err
    return ran
