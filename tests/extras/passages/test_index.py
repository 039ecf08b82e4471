"""A passage index: documents come and go, and what is found is where it says."""

import json
import threading

import pytest

from scrapy_simhash.errors import IndexClosed, IndexCorrupt, IndexForeign, IndexMismatch
from scrapy_simhash.extras.passages.cutting import PLAN, fingerprint_of, spans_of
from scrapy_simhash.extras.passages.index import FILE_NAME, open_passages
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import database_kind
from scrapy_simhash.index.tables import tables
from tests.index.backends import DATABASE_KINDS

FERRY = (
    "The ferry leaves the northern pier at a quarter past every hour. In winter the last crossing "
    "is at seven, because the channel lights are switched off to save the batteries. Bicycles "
    "travel free of charge, as long as their owners hold them upright during the whole passage.\n"
    "Two sisters have run the line since their uncle retired with a bad knee."
)
QUARRY = (
    "Slate from this quarry covers half the roofs of the valley. The seam runs under the road, "
    "which had to be moved twice, and both times the inn moved with it. Today a choir rehearses "
    "in the deepest chamber, where a single note hangs in the air for eleven seconds."
)
TEA = (
    "山坡上的茶园天还没亮就热闹起来，采茶的人背着竹篓一排一排往上走。"
    "春茶只采一芽一叶，露水干了以后才可以动手。"
    "老师傅说炒茶最要紧的是火候，铁锅的温度全靠手背去试。"
)
ROPE = (
    "Канатная мастерская стоит у самой воды, и её длинный навес тянется вдоль всего причала. "
    "Пеньку здесь чешут вручную, потому что машина рвёт волокно и канат выходит слабым. "
    "Готовую бухту проверяют тремя волами и одним очень терпеливым мастером."
)
TEXTS = {"ferry": FERRY, "quarry": QUARRY, "tea": TEA, "rope": ROPE}


def edited(text, every):
    """A letter in so many replaced, so that its neighbours stay."""
    return "".join(
        "ж" if character.isalpha() and number % every == every // 2 else character
        for number, character in enumerate(text)
    )


@pytest.fixture
def filled(tmp_path):
    with open_passages(tmp_path / "index") as index:
        for name, text in TEXTS.items():
            index.add(name, text)
        yield index


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_copy_is_found_whole(filled, name):
    report = filled.check("copy", TEXTS[name])
    assert report.known_share == 1.0
    assert [(source.document, source.share) for source in report.sources] == [(name, 1.0)]
    for passage in report.passages:
        [source] = passage.sources
        assert (passage.level, passage.documents, passage.similarity) == ("high", 1, 1.0)
        assert (source.start, source.end) == (passage.start, passage.end)
        assert source.text == passage.text


@pytest.mark.parametrize("name", list(TEXTS))
def test_edited_copies_are_less_similar(filled, name):
    report = filled.check("edited", edited(TEXTS[name], 20))
    assert report.known_share > 0.8
    assert report.sources[0].document == name
    similarities = [passage.similarity for passage in report.passages if passage.sources]
    assert all(0.9 < similarity < 0.99 for similarity in similarities)


def test_neighbours_are_those_of_a_linear_scan_but_for_a_few_far_ones(filled, monkeypatch):
    monkeypatch.setattr(tables, "UNSORTED_ROWS", 500)
    for number in range(10):  # more than the tables leave unsorted
        text = "".join(f"{edited(FERRY, n)}\n" for n in range(9, 40))
        filled.add(f"more {number}", f"{text}Number {number} is moored here.")
    stored = {}
    for number in range(1, filled.documents + 1):
        _, text = filled.document(number)
        for span in reversed(spans_of(text)):
            if fingerprint := fingerprint_of(text[slice(*span)]):
                stored[fingerprint.value, number] = span
    assert len(stored) == filled.passages > tables.UNSORTED_ROWS
    asked = [fingerprint_of(sentence) for sentence in f"{edited(FERRY, 30)} {QUARRY}".split(". ")]
    missed = all_near = 0
    for distance in (0, PLAN.guaranteed_distance, 50):
        for query, near in zip(asked, filled.near(asked, distance), strict=True):
            found = rows_of(near)
            expected = {
                (apart, number, span)
                for (fingerprint, number), span in stored.items()
                if (apart := hamming_distance(query.value, fingerprint)) <= distance
            }
            assert found == sorted(found)
            assert set(found) <= expected
            if distance <= PLAN.guaranteed_distance:
                assert set(found) == expected
            missed += len(expected) - len(found)
            all_near += len(expected)
    assert missed < all_near / 100
    assert rows_of(filled.near(asked[:1], 50)[0]) == rows_of(filled.near(asked, 50)[0])


def rows_of(near):
    return [(apart, number, (start, end)) for apart, number, start, end in near.tolist()]


def test_the_most_similar_source_comes_first(tmp_path):
    with open_passages(tmp_path / "index") as index:
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


def test_documents_are_replaced(filled):
    assert filled.add("ferry", FERRY) is None  # the same text
    assert filled.documents == 4
    assert filled.add("ferry", QUARRY) == 3
    assert filled.documents == 4
    assert filled.check("q", FERRY).known_share == 0.0
    report = filled.check("q", QUARRY)
    assert {source.document for source in report.sources} == {"ferry", "quarry"}
    assert {passage.documents for passage in report.passages} == {2}
    passages = filled.passages
    assert filled.add("ferry", "") == 0
    assert filled.passages == passages - 3
    assert {passage.documents for passage in filled.check("q", QUARRY).passages} == {1}
    assert filled.add("quarry", TEA)
    assert filled.check("q", QUARRY).known_share == 0.0


def test_what_very_many_documents_have_is_common(tmp_path):
    notice = "All rights to photographs in this archive remain with the municipal museum. "
    with open_passages(tmp_path / "index") as index:
        for number in range(100):
            index.add(f"page {number}", f"{notice}\nReport number {number} of {number * 37} lines.")
        text = notice + FERRY
        report = index.check("q", text)
        common = report.passages[0]
        assert (common.level, common.documents) == ("common", 100)
        assert report.common_share == report.known_share > 0
        assert len(common.sources) == 5
        assert index.check("q", text, exclude="page 0").passages[0].level == "high"


def test_a_sentence_that_a_document_repeats_counts_once(tmp_path):
    with open_passages(tmp_path / "index") as index:
        assert index.add("chorus", (QUARRY.split(". ", maxsplit=1)[0] + ". ") * 50) == 1
        [passage] = index.check("q", QUARRY.split(". ", maxsplit=1)[0] + ".").passages
        assert (passage.documents, passage.sources[0].start) == (1, 0)


@pytest.mark.parametrize("text", ["", " \n", "x", "Yes. No.", "。。。", "\ud800", "\0"])
def test_hardly_any_text(tmp_path, text):
    with open_passages(tmp_path / "index") as index:
        assert index.add("empty", text) == 0
        assert index.documents == 1
        report = index.check("empty", text)
        assert report.known_share == 0.0
        assert all(passage.short for passage in report.passages)


@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_it_is_there_when_it_is_opened_again(tmp_path, kind):
    directory = tmp_path / "index"
    with open_passages(directory, kind=kind) as index:
        index.add("tea", TEA)
        index.add("\ud800", ROPE)
        index.add("\ud800", "")
    with open_passages(directory, create=False) as index:
        assert index.documents == 2
        assert (index.check("q", TEA).known_share, index.check("q", ROPE).known_share) == (1.0, 0.0)
        assert index.add("rope", ROPE) == 3
    assert sorted(path.name for path in directory.iterdir()) == ["documents", FILE_NAME]
    assert json.loads((directory / FILE_NAME).read_text())["database"] == kind
    assert directory.stat().st_mode & 0o077 == 0


def test_users_in_one_process_share_an_index(tmp_path):
    directory = tmp_path / "index"
    first, second = open_passages(directory), open_passages(directory)
    first.add("ferry", FERRY)
    first.close()
    assert second.check("q", FERRY).known_share == 1.0
    second.close()
    for use in (lambda: second.check("q", FERRY), lambda: second.add("a", TEA), second.sync):
        with pytest.raises(IndexClosed):
            use()
    with open_passages(directory) as third:
        assert third.documents == 1


def test_an_error_that_is_kept_stops_no_documents(filled):
    with pytest.raises(TypeError) as kept:
        filled.near([object()], 3)
    assert filled.add("new", TEA + QUARRY)
    assert kept.traceback


def test_threads(filled):
    texts = {f"{name} {n}": f"{text} Number {n}." for name, text in TEXTS.items() for n in range(5)}

    def add(part):
        for name in list(texts)[part::4]:
            filled.add(name, texts[name])
            filled.check("q", FERRY)

    threads = [threading.Thread(target=add, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert filled.documents == 24
    for name, text in texts.items():
        assert filled.check("q", text).passages[0].documents == 6, name


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        *(
            (text, IndexCorrupt, r"\): restore it from a backup, or delete")
            for text in ("{", "[" * 100_000)
        ),
        ("[]", IndexForeign, "the format 'scrapy-simhash passages'"),
        (
            '{"format": "scrapy-simhash index"}',
            IndexForeign,
            "the format 'scrapy-simhash passages'",
        ),
        (
            '{"format": "scrapy-simhash passages", "format_version": 1}',
            IndexMismatch,
            "the release that made it, or delete",
        ),
        (
            '{"format": "scrapy-simhash passages", "format_version": 2, "scheme": "words-64"}',
            IndexMismatch,
            "fingerprints of another release: use the release that made it, or delete",
        ),
    ],
)
def test_a_manifest_that_makes_no_sense(tmp_path, content, error, said):
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(error, match=said):
        open_passages(tmp_path)
    assert (tmp_path / FILE_NAME).read_text() == content


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"D\0\0\0\1", b"x"), (b"D\0\0\0\1", bytes(20) + b"\xff"), (b"D1", bytes(20))],
)
def test_damaged_rows_are_errors(tmp_path, key, value):
    with open_passages(tmp_path / "index", kind="leveldb") as index:
        index.add("ferry", FERRY)
    database = database_kind("leveldb")("there", tmp_path / "index" / "documents")
    database.write([(key, value)], [])
    database.close()
    with pytest.raises(IndexCorrupt, match="restore a backup"):
        open_passages(tmp_path / "index")


@pytest.mark.parametrize("text", ["The mill is closed.", "Ask the ferryman.", "磨坊今天不开门了。"])
def test_a_short_passage_is_similar_with_an_edited_character(tmp_path, text):
    with open_passages(tmp_path / "index") as index:
        index.add("short", text)
        [passage] = index.check("q", edited(text, len(text))).passages
        assert passage.sources
