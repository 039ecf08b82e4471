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


@pytest.mark.parametrize("key", ["https://a.example/failed", "https://a.example/", ""])
def test_of_a_page_that_is_not_known_it_says_so(made, capsys, key):
    assert query(made, key) == 1
    assert capsys.readouterr().err == "nothing is known about it\n"


def test_a_directory_of_other_things_is_refused(tmp_path):
    (tmp_path / "file").touch()
    assert query(tmp_path, "a") == 1


def test_asking_does_not_make_an_index(tmp_path, capsys):
    assert query(tmp_path / "none", "a") == 1
    assert "no such directory" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
