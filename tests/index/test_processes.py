"""An index and other processes: locks, and two that begin at once."""

import json
from contextlib import ExitStack

import pytest

from scrapy_simhash.errors import IndexLocked
from scrapy_simhash.index import open_index, reset_index

from .backends import DATABASE_KINDS, files
from .processes import children


@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_an_index_that_another_process_has_open_is_locked_and_left_alone(tmp_path, kind):
    directory = tmp_path / "index"
    with children() as other:
        holder = other.begin("hold", kind=kind, directory=str(directory))
        assert holder.line() == "open"
        before = files(directory)
        for attempt in (
            lambda: open_index(f"{kind}:{directory}"),
            lambda: reset_index(f"{kind}:{directory}"),
        ):
            with pytest.raises(IndexLocked) as caught:
                attempt()
            assert caught.value.location == str(directory)
            assert str(directory) in str(caught.value)
            assert "SIMHASH_DIR" in str(caught.value)
        after = files(directory)
        for name, data in before.items():
            # They may begin a new LOG of their own messages; rocksdict makes its file again.
            if "LOG" not in name and not name.endswith("rocksdict-config.json"):
                assert after[name] == data, name
        holder.send("")
        assert holder.rest() == ["closed"]
    with open_index(f"{kind}:{directory}", incremental=True) as index:
        assert len(index) == 50


@pytest.mark.parametrize("other_kind", DATABASE_KINDS)
@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_of_two_processes_that_make_an_index_at_once_one_opens_what_its_manifest_says(
    tmp_path, kind, other_kind
):
    with ExitStack() as stack:
        both = {
            (kind, 64): stack.enter_context(children()),
            (other_kind, 128): stack.enter_context(children()),
        }
        for attempt in range(12):
            directory = tmp_path / str(attempt)
            racing = {
                (kind_, bits): one.begin("race", kind=kind_, directory=str(directory), bits=bits)
                for (kind_, bits), one in both.items()
            }
            results = {asked: process.line() for asked, process in racing.items()}
            manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
            for process in racing.values():
                process.send("close")
                assert process.rest() == []
                assert process.status == 0
            opened = [asked for asked, result in results.items() if result == "opened"]
            made = (manifest["database"], manifest["scheme"]["bits"])
            assert set(opened) <= {made}, results
            assert set(results.values()) <= {"opened", "IndexMismatch", "IndexLocked"}
            assert made in racing
