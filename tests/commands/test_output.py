"""A result as lines of text: the names and values of its JSON, without empty ones."""

from scrapy_simhash.commands._output import lines_of


def test_each_kind_of_value():
    result = {
        "index": "a\x1b[31m",
        "entries": 12345,
        "similarity": 0.98765,
        "confirmed": True,
        "first_seen_s": 86_400,
        "url": None,
        "name": "",
        "problems": [],
        "skipped": {},
        "changed": False,
        "damaged": {"in\x07.csv": "cut", 5: 0},
        "removed": ["b", "c"],
        "matches": [{"key": "d", "distance": 0, "name": "", "parts": [1], "reason": "a copy"}],
    }
    assert list(lines_of(result)) == [
        "index         a\\x1b[31m",
        "entries       12,345",
        "similarity    0.988",
        "confirmed     yes",
        "first_seen_s  1970-01-02 00:00:00+00:00",
        "changed       no",
        *("damaged", "  in\\x07.csv  cut"),
        *("removed", "  b", "  c"),
        *("matches", "  d", "    distance 0, reason a copy"),
    ]
