"""A passage index: documents come and go, and what is found is where it says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.errors import (
    IndexClosed,
    IndexCorrupt,
    IndexForeign,
    IndexLocked,
    IndexMismatch,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.extras.passages import rows
from scrapy_simhash.extras.passages.cutting import Cutting
from scrapy_simhash.extras.passages.index import open_passages
from scrapy_simhash.extras.passages.matching import CheckOptions
from scrapy_simhash.extras.passages.scheme import PassageScheme
from scrapy_simhash.index import index_url, open_index
from scrapy_simhash.index.kinds import database_kind
from tests.extras.passages.texts import FERRY, QUARRY, ROPE, TEA, edited
from tests.index.backends import DATABASE_KINDS

TEXTS = {"ferry": FERRY, "quarry": QUARRY, "tea": TEA, "rope": ROPE}


@pytest.fixture(params=DATABASE_KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["texts", "no-texts"])
def filled(request, tmp_path):
    with open_passages(tmp_path / "index", keep_text=request.param) as index:
        for name, text in TEXTS.items():
            index.add(name, text)
        yield index


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("name", list(TEXTS))
def test_a_copy_is_found_whole(filled, name, mode):
    report = filled.check("copy", TEXTS[name], CheckOptions(mode=mode))
    assert report.known_share == 1.0
    assert [(source.document, source.share) for source in report.sources] == [(name, 1.0)]
    for passage in report.passages:
        [source] = passage.sources
        assert (passage.level, passage.documents, passage.similarity) == ("high", 1, 1.0)
        assert (source.start, source.end) == (passage.start, passage.end)
        assert source.text == (passage.text if filled.manifest.keep_text else "")


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_a_text_of_its_own_is_not_found(filled, mode):
    text = "Nothing of this was ever written anywhere else. 这里没有一句话是别处出现过的。"
    report = filled.check("own", text, CheckOptions(mode=mode))
    assert (report.known_share, report.sources) == (0.0, ())
    assert all(passage.level == "none" for passage in report.passages)


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_one_sentence_in_another_text(filled, mode):
    stranger = "Here begins a page about gardening. "
    sentence = QUARRY.split(". ")[1] + "."
    report = filled.check("mixed", stranger + sentence, CheckOptions(mode=mode))
    own, copied = report.passages
    assert own.sources == ()
    [source] = copied.sources
    assert (source.document, QUARRY[source.start : source.end]) == ("quarry", sentence)
    share = len("".join(sentence.split())) / len("".join((stranger + sentence).split()))
    assert report.known_share == round(share, 4)


@pytest.mark.parametrize("name", list(TEXTS))
def test_edited_copies_are_less_similar(filled, name):
    report = filled.check("edited", edited(TEXTS[name], 20))
    assert report.known_share > 0.8
    assert report.sources[0].document == name
    similarities = [passage.similarity for passage in report.passages if passage.sources]
    assert all(0.75 <= similarity < 1 for similarity in similarities)
    if filled.manifest.keep_text:
        assert report.verified
        assert all(0.9 < similarity < 0.99 for similarity in similarities)


def test_similarities_below_the_least_do_not_count(filled):
    text = edited(FERRY, 20)
    assert filled.check("edited", text, CheckOptions(min_similarity=0.999)).known_share == 0.0
    levels = {p.level for p in filled.check("e", text, CheckOptions(high_similarity=1.0)).passages}
    assert "medium" in levels <= {"medium", "none"}


def test_exact_mode_keeps_the_most_similar_source_first(tmp_path):
    with open_passages(tmp_path / "index", keep_text=True) as index:
        for every in (12, 17, 23):
            index.add(f"every {every}", edited(QUARRY, every))
        index.add("original", QUARRY)
        for passage in index.check("q", QUARRY).passages:
            names = [source.document for source in passage.sources]
            assert names[0] == "original"
            assert {"every 17", "every 23"} <= set(names)
            ranks = [(-source.similarity, source.distance) for source in passage.sources]
            assert ranks == sorted(ranks)
            assert passage.documents == len(names)


def test_a_document_is_no_source_of_itself(filled):
    assert filled.check("ferry", FERRY, exclude="ferry").known_share == 0.0
    filled.add("second", FERRY)
    report = filled.check("ferry", FERRY, exclude="ferry")
    assert [source.document for source in report.sources] == ["second"]


def test_documents_are_replaced_and_removed(filled):
    assert filled.add("ferry", FERRY) is None  # the same text
    assert filled.documents == 4
    assert filled.add("ferry", QUARRY) == 3
    assert filled.documents == 4
    assert filled.check("q", FERRY).known_share == 0.0
    report = filled.check("q", QUARRY)
    assert {source.document for source in report.sources} == {"ferry", "quarry"}
    assert {passage.documents for passage in report.passages} == {2}
    assert filled.remove("ferry")
    assert not filled.remove("ferry")
    assert filled.documents == 3
    assert {passage.documents for passage in filled.check("q", QUARRY).passages} == {1}
    assert filled.remove("quarry")
    assert filled.check("q", QUARRY).known_share == 0.0


def test_what_very_many_documents_have_is_common(tmp_path):
    notice = "All rights to photographs in this archive remain with the municipal museum. "
    with open_passages(tmp_path / "index", keep_text=True) as index:
        for number in range(40):
            index.add(f"page {number}", f"{notice}\nReport number {number} of {number * 37} lines.")
        text = notice + FERRY
        question = CheckOptions(common_documents=40)
        report = index.check("q", text, question)
        common = report.passages[0]
        assert (common.level, common.documents) == ("common", 40)
        assert report.common_share == report.known_share > 0
        assert len(common.sources) == 5
        left_out = index.check("q", text, replace(question, ignore_common=True))
        assert (left_out.known_share, left_out.sources) == (0.0, ())
        assert left_out.common_share == report.common_share
        assert index.check("q", text, CheckOptions(common_documents=41)).passages[0].level == "high"
        assert index.check("q", text, CheckOptions(common_documents=0)).passages[0].level == "high"


def test_a_sentence_that_a_document_repeats_counts_once(tmp_path):
    with open_passages(tmp_path / "index") as index:
        index.add("chorus", (QUARRY.split(". ")[0] + ". ") * 50)
        [passage] = index.check("q", QUARRY.split(". ")[0] + ".").passages
        assert passage.documents == 1
        assert index.passages == 1


def test_short_passages_are_not_looked_up(tmp_path):
    with open_passages(tmp_path / "index") as index:
        assert index.add("a", "Yes. No.\n" + FERRY) == 4
        report = index.check("q", "Yes. No.")
        assert [passage.short for passage in report.passages] == [True, True]
        assert report.known_share == 0.0


@pytest.mark.parametrize("text", ["", " \n", "x", "。。。", "\ud800", "\0"])
def test_hardly_any_text(tmp_path, text):
    with open_passages(tmp_path / "index", keep_text=True) as index:
        assert index.add("empty", text) == 0
        assert index.documents == 1
        assert index.check("empty", text).known_share == 0.0


def test_it_is_there_when_it_is_opened_again(tmp_path, kind):
    directory = tmp_path / "index"
    cutting = PassageScheme(cutting=Cutting("runs", 13))
    with open_passages(directory, cutting, keep_text=True, kind=kind) as index:
        index.add("tea", TEA)
    with open_passages(directory, create=False) as index:
        assert index.manifest.database == kind
        assert (index.documents, index.manifest.scheme) == (1, cutting)
        assert index.check("q", TEA).known_share > 0.9
    assert sorted(path.name for path in directory.iterdir()) == [
        "documents",
        "index",
        "passages.json",
    ]
    assert directory.stat().st_mode & 0o077 == 0


def test_handles_of_one_process_share_an_index(tmp_path):
    directory = tmp_path / "index"
    first, second = open_passages(directory), open_passages(directory)
    first.add("ferry", FERRY)
    first.close()
    first.close()
    with pytest.raises(IndexClosed):
        first.check("q", FERRY)
    assert second.check("q", FERRY).known_share == 1.0
    second.close()
    with open_passages(directory) as third:
        assert third.documents == 1


def test_threads(tmp_path):
    with open_passages(tmp_path / "index", keep_text=True) as index:
        texts = {
            f"{name} {n}": f"{text} Number {n}." for name, text in TEXTS.items() for n in range(5)
        }

        def add(part):
            for name in list(texts)[part::4]:
                index.add(name, texts[name])
                index.check("q", FERRY)

        threads = [threading.Thread(target=add, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert index.documents == 20
        for name, text in texts.items():
            assert index.check("q", text).passages[0].documents == 5, name


def test_another_scheme_than_its_own(tmp_path):
    directory = tmp_path / "index"
    with open_passages(directory, keep_text=False):
        pass
    runs = PassageScheme(cutting=Cutting("runs"))
    for arguments, said in ((({"scheme": runs}), "unit"), ({"keep_text": True}, "keeps no texts")):
        with pytest.raises(IndexMismatch, match=said):
            open_passages(directory, **arguments)
        with open_passages(directory), pytest.raises(IndexMismatch, match=said):
            open_passages(directory, **arguments)


def test_a_scheme_of_ones_own(tmp_path):
    classic = PassageScheme(
        scheme=Scheme(bits=64, tokenizer="characters", shingle_length=2), max_distance=3
    )
    with open_passages(tmp_path / "index", classic) as index:
        index.add("tea", TEA)
        assert index.check("q", TEA).known_share == 1.0


def test_missing(tmp_path):
    with pytest.raises(StorageError, match="there is no passage index"):
        open_passages(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_foreign_directories_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(IndexForeign, match=r"no passages\.json but other files"):
        open_passages(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(IndexForeign, match="no directory"):
        open_passages(tmp_path / "notes.txt")
    pages = tmp_path / "pages"
    open_index(index_url(pages)).close()
    with pytest.raises(IndexForeign, match="index of pages"):
        open_passages(pages)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", IndexCorrupt),
        ("{", IndexCorrupt),
        ("[]", IndexForeign),
        ('{"format": "something else"}', IndexForeign),
        ('{"format": "scrapy-simhash passages"}', IndexCorrupt),
        ('{"format": "scrapy-simhash passages", "format_version": 99}', IndexMismatch),
        ("[" * 100_000, IndexCorrupt),
        (b"\xff\xfe", IndexCorrupt),
    ],
)
def test_a_manifest_that_makes_no_sense(tmp_path, content, error):
    with open_passages(tmp_path / "index"):
        pass
    path = tmp_path / "index" / "passages.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error, match=r"passages\.json|format version"):
        open_passages(tmp_path / "index")
    assert path.exists()


@pytest.mark.parametrize(
    "change",
    [{"max_distance": 999}, {"unit": "words"}, {"keep_text": 1}, {"database": "sqlite"}],
    ids=str,
)
def test_a_value_of_the_manifest_that_cannot_be(tmp_path, change):
    with open_passages(tmp_path / "index"):
        pass
    path = tmp_path / "index" / "passages.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(IndexCorrupt, match="cannot be read"):
        open_passages(tmp_path / "index")


def test_an_index_whose_driver_is_not_installed_is_not_damaged(tmp_path, monkeypatch):
    with open_passages(tmp_path / "index"):
        pass

    def no_driver(name):
        raise SchemeError(f"an index in {name} needs a package, which cannot be imported")

    monkeypatch.setattr("scrapy_simhash.extras.passages.index.database_kind", no_driver)
    with pytest.raises(SchemeError, match="cannot be imported"):
        open_passages(tmp_path / "index")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: PassageScheme(max_distance=256), PlanError),
        (lambda: PassageScheme(max_distance=True), PlanError),
        (lambda: PassageScheme(min_characters=0), SchemeError),
        (lambda: CheckOptions(mode="quick"), SchemeError),
        (lambda: CheckOptions(min_similarity=1.1), SchemeError),
        (lambda: CheckOptions(min_similarity="0.5"), SchemeError),
        (lambda: CheckOptions(min_similarity=float("nan")), SchemeError),
        (lambda: CheckOptions(common_documents=-1), SchemeError),
    ],
)
def test_values_that_cannot_be(make, error):
    with pytest.raises(error):
        make()


def test_another_process_has_it(tmp_path):
    directory = tmp_path / "index"
    with open_passages(directory):
        code = f"from scrapy_simhash.extras.passages.index import open_passages; open_passages({str(directory)!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert IndexLocked.__name__ in other.stderr


_ADD_FOR_EVER = """
import sys
from itertools import count
from scrapy_simhash.extras.passages.index import open_passages
index = open_passages(sys.argv[1], keep_text=True)
for number in count():
    index.add(f"page {number}", f"The report of day {number} has {number * 7} lines. " + sys.argv[2])
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [0, 7, 60])
def test_what_was_added_outlives_the_process(tmp_path, after):
    directory = tmp_path / "index"
    with subprocess.Popen(
        [sys.executable, "-c", _ADD_FOR_EVER, str(directory), QUARRY],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout:
            if int(line) >= after:
                break
        os.kill(process.pid, signal.SIGKILL)
        last = max([after, *map(int, process.stdout.read().split())])
    with open_passages(directory, create=False) as index:
        assert last + 1 <= index.documents <= last + 2
        for number in range(last + 1):
            report = index.check("q", f"The report of day {number} has {number * 7} lines.")
            assert f"page {number}" in [source.document for source in report.sources]
        assert index.check("q", QUARRY).passages[0].documents == index.documents
        assert index.add("page 0", TEA) == 3


def test_an_ordinal_that_is_another_passages_by_now(tmp_path):
    """After a power loss, the documents may be younger than the fingerprints."""
    directory = tmp_path / "index"
    with open_passages(directory) as index:
        index.add("lost", FERRY)
    shutil.rmtree(directory / "index")
    with open_passages(directory) as index:
        assert index.add("new", QUARRY) == 3
        report = index.check("q", QUARRY)
        assert {source.document for source in report.sources} == {"new"}
        assert {passage.documents for passage in report.passages} == {1}
        assert index.add("lost", FERRY + " And so it is.") == 5
        assert index.check("q", QUARRY).known_share == 1.0
        assert index.check("q", FERRY).known_share == 1.0


def test_each_of_the_documents_of_a_passage_can_be_taken_away(tmp_path):
    with open_passages(tmp_path / "index", keep_text=True) as index:
        for number in range(80):
            index.add(f"page {number}", f"{QUARRY} It is report number {number} of many.")
        for number in range(79):
            assert index.remove(f"page {number}")
        [source] = index.check("q", QUARRY).sources
        assert (source.document, index.documents) == ("page 79", 1)
        assert index.remove("page 79")
        assert index.check("q", QUARRY).known_share == 0.0


def test_texts_of_one_fingerprint_are_told_apart(tmp_path):
    few, many = "哈" * 9 + "。", "哈" * 40 + "。"
    with open_passages(tmp_path / "index", keep_text=True) as index:
        index.add("few", few)
        index.add("many", many)
        assert [source.document for source in index.check("q", many).sources] == ["many"]
        assert [source.document for source in index.check("q", few).sources] == ["few"]


def test_a_document_that_repeats_itself_leaves_room_for_others(tmp_path):
    sentence = QUARRY.split(". ")[0] + "."
    with open_passages(tmp_path / "index", keep_text=True) as index:
        index.add("six times", " ".join([sentence] * 6))
        index.add("once", sentence)
        report = index.check("q", sentence)
        assert {source.document for source in report.sources} == {"six times", "once"}
        assert report.passages[0].documents == 2


def test_passages_that_are_gone_hide_no_others(tmp_path):
    seen = "This notice of the harbour office was seen by {} visitors until noon."
    with open_passages(tmp_path / "index", keep_text=True) as index:
        index.add("live", seen.format(777777))
        for number in range(90):
            index.add("again", seen.format(123400 + number))
        assert index.remove("again")
        report = index.check("q", seen.format(123456))
        assert [source.document for source in report.sources] == ["live"]


def test_documents_whose_fingerprints_were_lost_can_be_added_again(tmp_path, caplog):
    directory = tmp_path / "index"
    with open_passages(directory, keep_text=True) as index:
        index.add("ferry", FERRY)
    shutil.rmtree(directory / "index")
    for _ in range(2):  # it is remembered
        with open_passages(directory) as index:
            assert index.check("q", FERRY).known_share == 0.0
    assert "has lost fingerprints" in caplog.text
    with open_passages(directory) as index:
        assert index.add("ferry", FERRY) == 4
        assert index.add("ferry", FERRY) is None
        assert index.check("q", FERRY).known_share == 1.0
        assert index.documents == 1


def test_a_document_does_not_count_for_itself_however_many_there_are(tmp_path):
    with open_passages(tmp_path / "index") as index:
        for number in range(40):
            index.add(f"page {number}", QUARRY)
        question = CheckOptions(common_documents=40)
        for name in ("page 0", "page 39"):
            passages = index.check(name, QUARRY, question, exclude=name).passages
            assert {(passage.documents, passage.level) for passage in passages} == {(39, "high")}


def test_a_distance_that_no_tables_serve_leaves_nothing_behind(tmp_path):
    with pytest.raises(PlanError):
        open_passages(tmp_path / "index", PassageScheme(max_distance=255))
    with open_passages(tmp_path / "index") as index:
        assert index.documents == 0


@pytest.mark.parametrize("key", [rows.STATE_KEY, rows.name_key("ferry"), rows.key(b"P", 0)])
def test_damaged_rows_are_errors(tmp_path, key):
    with open_passages(tmp_path / "index") as index:
        index.add("ferry", FERRY)
        database = index.manifest.database
    documents = database_kind(database)(str(tmp_path), tmp_path / "index" / "documents")
    documents.write([(key, b"123")])
    documents.close()
    with (
        pytest.raises(IndexCorrupt, match=r"damaged .* add the documents again"),
        open_passages(tmp_path / "index") as index,
    ):
        index.check("ferry", FERRY, exclude="ferry")


def test_a_damaged_document_database_is_not_to_be_repaired(tmp_path):
    with open_passages(tmp_path) as index:
        index.add("ferry", FERRY)
    (tmp_path / "documents" / "CURRENT").unlink()
    with pytest.raises(IndexCorrupt, match="add the documents again"):
        open_passages(tmp_path)


class TestShortSentences:
    """Sentences of 16 letters with two changed characters, as in the articles' example."""

    PAIRS = (
        ("小姑姑叫你进屋喝汤哦，快来呀快来呀", "小姑姑喊你进屋喝汤啦，快来呀快来呀"),
        ("渡轮老板喊你上船吃面哦，开船罗开船罗", "渡轮老板叫你上船吃面啦，开船罗开船罗"),
        ("灯塔爷爷喊你上楼看海哦，起风罗起风罗", "灯塔爷爷叫你上楼看海啦，起风罗起风罗"),
    )

    @pytest.mark.parametrize("mode", ["exact", "fast"])
    @pytest.mark.parametrize("pair", PAIRS)
    @pytest.mark.parametrize("turned", [False, True])
    def test_two_changed_characters_are_similar_in_either_direction(
        self, tmp_path, pair, turned, mode
    ):
        stored, asked = pair[::-1] if turned else pair
        with open_passages(tmp_path / "index", keep_text=True) as index:
            for name, text in TEXTS.items():
                index.add(name, text)
            index.add("short", stored)
            [passage] = index.check("asked", asked, CheckOptions(mode=mode)).passages
        [source] = passage.sources
        assert (source.document, passage.level) == ("short", "medium")
        assert source.similarity == pytest.approx(1 - 2 / len(stored), abs=0.001)

    def test_others_are_not(self, tmp_path):
        with open_passages(tmp_path / "index", keep_text=True) as index:
            index.add("short", self.PAIRS[0][0])
            [passage] = index.check("asked", self.PAIRS[1][0]).passages
        assert passage.level == "none"
