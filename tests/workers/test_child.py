"""What a worker inherits and loads, whom it obeys, and how it ends."""

import gc
import sys
from contextlib import ExitStack, closing

import pytest

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers import process as process_module
from scrapy_simhash.workers.pool import WorkerPool
from tests.crawl.harness import python
from tests.workers.driving import Driven, scheme_of
from tests.workers.watching import is_gone, needs_proc

pytestmark = needs_proc


def test_the_working_directory_does_not_stand_in_for_the_standard_library(
    start_pool, tmp_path, monkeypatch
):
    for name in ("json", "signal", "multiprocessing", "socket", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert start_pool().answer().skipped is None


def test_what_it_says_is_not_on_the_parents_standard_output(start_pool, monkeypatch, capfd):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    pool = start_pool()
    pool.results(pool.ask("print on the line"), pool.ask("fail silently"))
    pool.close()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("on the line") == 2
    assert "silently" not in err


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit('no licence')", "SystemExit: no licence"),
        ("import os; os._exit(5)", "exit code 5; see its output on standard error"),
        ("import time; time.sleep(3600)", "it took too long; see its output on standard error"),
    ],
    ids=["leaves", "kills", "hangs"],
)
def test_a_module_that_cannot_be_imported_is_an_error(
    start_pool, monkeypatch, tmp_path, code, said
):
    monkeypatch.syspath_prepend(tmp_path)
    if "sleep" in code:
        monkeypatch.setattr(process_module, "START_TIMEOUT_S", 0.5)
    pool = start_pool(scheme=scheme_of(tmp_path, "extractor_of_a_project", code))
    [worker] = pool.pids
    error = pool.error(pool.ask())
    assert isinstance(error, WorkerError)
    assert said in str(error)
    assert "WORKERS = 0" in str(error) or "SystemExit" in said
    assert is_gone(worker)


def serve_functions(_spec):
    """Answer with a function that cannot be pickled."""
    return lambda _: lambda: None


def serve_collections(_spec):
    """Answer with the objects that no collection looks at, and how many new ones begin one."""
    return lambda _: (gc.get_freeze_count(), gc.get_threshold()[0])


@pytest.fixture
def start_serving():
    with ExitStack() as stack:
        yield lambda serve: stack.enter_context(
            closing(
                Driven(
                    WorkerPool(
                        serve,
                        None,
                        1,
                        result_classes=(),
                        timeout_ms=10_000,
                        lost_result=str,
                        without_workers="use none",
                    )
                )
            )
        )


def test_a_result_that_cannot_be_pickled_is_an_error(start_serving):
    driven = start_serving(serve_functions)
    error = driven.error(driven.ask())
    assert isinstance(error, WorkerError)
    assert "pickle" in str(error)
    assert driven.replaced == 0


def test_it_seldom_looks_for_cycles_and_not_in_what_was_imported(start_serving):
    driven = start_serving(serve_collections)
    [(frozen, objects)] = driven.results(driven.ask())
    assert frozen > 1000
    assert objects > 10 * gc.get_threshold()[0]


@pytest.mark.parametrize(
    ("attribute", "value"), [("executable", ""), ("executable", None), ("frozen", "onefile")]
)
def test_without_a_python_there_is_none(start_pool, monkeypatch, attribute, value):
    """A frozen program would start itself, again and again."""
    monkeypatch.setattr(sys, attribute, value, raising=False)
    with pytest.raises(WorkerError, match="SIMHASH_WORKERS = 0"):
        start_pool().answer()


DICTIONARY = """
import sys
from scrapy_simhash import Detector, Scheme
from scrapy_simhash.workers.pages import serve_pages

def is_loaded():
    return not sys.modules.keys().isdisjoint(("jieba", "rjieba.rjieba"))

answer = serve_pages((Detector(Scheme.preset("wide")), int(sys.argv[1])))
loaded = [is_loaded()]
for page in ("<p>The ferry leaves at noon.</p>", "<p>渡轮上午离开码头</p>"):
    answer(page)
    loaded.append(is_loaded())
print(*loaded)
"""


@pytest.mark.parametrize(
    ("timeout_ms", "loaded"), [(5000, "False False True"), (4999, "True True True")]
)
def test_the_dictionary_is_loaded_at_start_or_by_the_first_chinese_page(timeout_ms, loaded):
    child = python("-X", "utf8", "-c", DICTIONARY, timeout_ms)
    assert child.stdout == f"{loaded}\n"
