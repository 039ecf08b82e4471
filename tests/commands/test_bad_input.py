"""Commands with wrong usage or input: one line that says what to do, and no file is changed. For an
index see `test_index_bad_input`, for `dedupe` see `test_dedupe_bad_input`.
"""

import gzip
import shlex

import pytest

from tests.calibration.pages import articles, write_pages

from .samples import FERRY, PAGE, written

FILES = {
    "letter.txt": FERRY,
    "text.html": FERRY,
    "page.html": PAGE,
    "empty.txt": " \n",
    "empty.jsonl": "\n",
    "binary": b"\0\1\2",
    "two.jsonl": '{"text": "one"}\n{"text": "two"}\n',
    "long.txt": "boat " * 2000,
    "cut.html.gz": gzip.compress(PAGE.encode(), mtime=0)[:-9],
    "other.jsonl": '{"body": "one"}',
}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("extract none.txt", 1, "no such file; the URL of a page begins with http"),
        ("extract ftp://boats.example/", 1, "name a file; a URL is read where one page is asked"),
        ("extract .", 1, "is a folder: name one file in it"),
        ("extract ''", 1, "the file name is empty"),
        ("extract empty.txt", 1, "no text in it"),
        ("extract empty.jsonl", 1, "no text in it"),
        ("extract binary", 1, "binary"),
        ("extract text.html", 1, "text.html: not HTML"),
        ("extract two.jsonl", 1, "more than one document"),
        ("extract long.txt -s SIMHASH_MAX_BYTES=4000", 1, "longer than 4,000 bytes"),
        ("extract cut.html.gz", 1, "cannot be read to its end"),
        ("extract other.jsonl", 1, "no field 'text'"),
        ("extract page.html -s SIMHASH_PRESET=broad", 1, "there is no preset 'broad'"),
        ("extract page.html -s SIMHASH_EXTRACTOR=nowhere.at_all", 1, "ModuleNotFoundError"),
        ("extract page.html -s SIMHASH_MIN_TOKEN=9", 1, "did you mean SIMHASH_MIN_TOKENS?"),
        ("extract page.html -s SIMHASH_MIN_TOKENS", 1, "give NAME=VALUE"),
        ("extract page.html --min-tokens x", 1, "SIMHASH_MIN_TOKENS"),
        ("extract page.html --nope", 2, "unrecognized arguments: --nope"),
        ("compare - -", 1, "can be read once"),
        ("compare letter.txt", 2, "required"),
        ("calibrate none", 1, "none: no such file"),
        ("calibrate ''", 1, "the file name is empty"),
        ("calibrate binary", 1, "no page could be read"),
        ("calibrate", 2, "required"),
        ("calibrate --sample 1 pages", 2, "from 2 to 20000"),
        ("index stats --index redis://:geheim@127.0.0.1:1/0#x", 1, "reached"),
        ("index stats -s SIMHASH_INDEX=redis", 1, "SIMHASH_REDIS_URL"),
        ("index stats --index redis://a#x{", 1, "has braces"),
        ("index stats --index x --redis redis://:geheim@127.0.0.1:1", 2, "--index cannot"),
        ("index import x.jsonl", 2, "required"),
        ("index stats --nope", 2, "unrecognized arguments: --nope"),
        ("index query letter.txt --nope", 2, "unrecognized arguments: --nope"),
        ("index merge redis://:geheim@127.0.0.1:1/0 --index .", 1, "name of the index"),
        ("index merge '' --index .", 1, "empty"),
        ("dedupe two.jsonl", 2, "-o OUT or --verdicts FILE is needed"),
        ("dedupe two.jsonl -o - --json", 2, "--json and -o - would both"),
        ("dedupe two.jsonl --verdicts -", 2, "--verdicts needs the name of a file"),
        ("dedupe - - -o o", 2, "standard input can be read once"),
        ("dedupe - --against - -o o", 2, "standard input can be read once, and not as --against"),
        ("dedupe two.jsonl -o o --index redis://:geheim@a:1/0#x", 1, "name a file"),
        ("dedupe s3://bucket/x.jsonl -o o", 1, "s3://bucket/x.jsonl: name a file"),
        ("index import two.jsonl s3://bucket/x", 1, "name a file"),
        ("dedupe two.jsonl -o o --delimiter ', '", 2, "one character is needed, or tab"),
        ("dedupe two.jsonl -o o --encoding nonsense", 2, "has no text encoding of this name"),
        ("dedupe two.jsonl -o o --text-field a --html-field b", 2, "not allowed with"),
        ("dedupe two.jsonl -o o --workers 0", 2, "1 to 256"),
        ("dedupe two.jsonl -o o --format xml", 2, "invalid choice"),
    ],
)
def test_what_cannot_be_done(run, folder, arguments, code, told):
    for name, content in FILES.items():
        written(folder, content, name)
    if "pages" in arguments:
        write_pages(folder / "pages", articles(2, 0))
    before = sorted(folder.rglob("*"))
    ran = run(*shlex.split(arguments))
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
    assert "geheim" not in ran.err
    if code == 2 and "--nope" not in arguments:
        command = " ".join(arguments.split()[: 2 if arguments.startswith("index") else 1])
        assert f" {command} [-h]" in ran.err.splitlines()[0]
    assert sorted(folder.rglob("*")) == before
