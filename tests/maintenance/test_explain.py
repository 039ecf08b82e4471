"""What an index says afterwards of a page: as data, and as a command."""

import pytest

from scrapy_simhash.commands.main import main
from tests.index.backends import make_backend


@pytest.fixture
def backend(kind, tmp_path):
    return make_backend(kind, tmp_path / "index")


@pytest.fixture
def made(backend):
    with backend.open() as index:
        index.confirm(index.observe("https://a.example/1", 0x0000))
        index.confirm(index.observe("https://a.example/2", 0x00FF))
        index.acted(index.observe("https://a.example/copy\n", 0x0001), "dropped")
        index.observe("https://a.example/copy\n", 0x00FD)
        index.discard(index.observe("https://a.example/failed", 0xFF00))
    return backend.directory


def query(made, key):
    return main(["index", "query", "--stored", "--index", str(made), key])


def test_the_command_prints_it_all(made, capsys):
    assert query(made, "https://a.example/copy\n") == 0
    head, _, _, first, _, second = capsys.readouterr().out.splitlines()
    assert head == "key  https://a.example/copy\\n"
    assert "representative https://a.example/1, distance 1, " in first
    assert "action dropped, " in first
    assert "representative https://a.example/2, distance 1, " in second
    assert "reason a copy: distance 1 (k = " in second
    assert query(made, "https://a.example/2") == 0
    _, _, _, first_seen, _, _, key, copy = capsys.readouterr().out.splitlines()
    assert first_seen.startswith("  first_seen_s  20")
    assert key == "  https://a.example/copy\\n"
    assert "reason a copy: distance 1" in copy
