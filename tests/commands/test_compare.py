"""``compare``: two pages."""

import json

import pytest

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.detector import Detector
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.resemblance import resemblance
from scrapy_simhash.scheme import PRESETS, Scheme

from .samples import CHINESE, FERRY, NEW, NOTICE, written

LONG = f"{FERRY} {NOTICE} {NEW}"
EDITED = LONG.replace("crossing", "passage").replace("bicycles", "dogs")
OTHER = (
    "Nobody who kept bees on the hill expected rain in the last week of March. The hives stood "
    "open to dry, and what honey there was had been sold to a baker from the next valley, who "
    "paid in flour, since coins were rare and banknotes rarer still in those parts of the country."
)


MAX_DISTANCE = PRESETS["wide"].max_distance


def similarity(*texts):
    detector = Detector(Scheme.preset("wide"), min_tokens=1)
    one, other = (detector.fingerprint_text(text).evidence for text in texts)
    return Confirmation().compare(one, other)[0]


def compared(run, *arguments):
    ran = run("compare", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


@pytest.fixture
def files(folder):
    written(folder, LONG, "a.txt")
    written(folder, f"<html><body><article><p>{EDITED}</p></article></body></html>", "b.html")
    written(folder, OTHER, "c.txt")
    written(folder, CHINESE * 3, "d.txt")
    return folder


def test_json(run, files):
    found = compared(run, "a.txt", "b.html")
    scheme = Scheme.preset("wide")
    one, other = scheme.fingerprint(LONG), scheme.fingerprint(EDITED)
    distance = hamming_distance(one, other)
    assert 0 < distance <= MAX_DISTANCE
    unknown = dict.fromkeys(("url", "skipped", "error"))
    pages = {
        which: unknown
        | {"page": page, "way": way, "fingerprint": f"{fingerprint:064x}"}
        | {"tokens": len(scheme.tokens(text))}
        for which, page, way, fingerprint, text in (
            ("a", "a.txt", "", one, LONG),
            ("b", "b.html", "readability", other, EDITED),
        )
    }
    assert found == pages | {
        "preset": "wide",
        "scheme": scheme.id,
        "bits": 256,
        "max_distance": MAX_DISTANCE,
        "min_resemblance": 0.6,
        "same_title": True,
        "distance": distance,
        "similarity": similarity(LONG, EDITED),
        "against": "",
        "reason": found["reason"],
        "near_duplicate": True,
        "resemblance": resemblance(LONG, EDITED),
    }
    assert 0 < found["resemblance"] < 1


def test_k_decides(run, files):
    found = compared(run, "a.txt", "c.txt")
    assert (found["near_duplicate"], found["against"]) == (False, "distance")
    assert found["reason"].startswith("no copy, because their distance is beyond k: ")
    found = compared(run, "a.txt", "b.html")
    assert found["reason"].startswith("a copy: ")
    distance = found["distance"]
    for k, is_near in ((distance, True), (distance - 1, False)):
        found = compared(run, "-s", f"SIMHASH_MAX_DISTANCE={k}", "a.txt", "b.html")
        assert found["near_duplicate"] is is_near


def test_pages_that_are_near_and_no_copies(run, files):
    found = compared(run, "-s", "SIMHASH_MIN_RESEMBLANCE=0.99", "a.txt", "b.html")
    assert (found["near_duplicate"], found["against"]) == (False, "resemblance")
    for name, title in (("one", "Boats"), ("other", "Trains")):
        written(files, f"<title>{title}</title><article><p>{LONG}</p></article>", f"{name}.html")
    found = compared(run, "one.html", "other.html")
    assert (found["distance"], found["similarity"], found["resemblance"]) == (0, 1, 1)
    assert (found["against"], found["near_duplicate"]) == ("name", False)
    assert 'names "Boats" and "Trains". SIMHASH_SAME_TITLE = False reverses' in found["reason"]
    found = compared(run, "-s", "SIMHASH_SAME_TITLE=False", "one.html", "other.html")
    assert (found["against"], found["near_duplicate"]) == ("", True)
    found = compared(run, "-s", "SIMHASH_PRESET=classic", "one.html", "other.html")
    assert (found["same_title"], found["near_duplicate"]) == (False, True)


def test_pages_that_are_skipped(run, files):
    written(files, NEW, "short.txt")
    assert compared(run, "short.txt", "short.txt")["near_duplicate"]
    written(files, "<html><body></body></html>", "none.html")
    found = compared(run, "a.txt", "none.html")
    assert (found["b"]["skipped"], found["resemblance"]) == ("no_text", None)
    assert found["similarity"] is None
    # Nothing was compared, so nothing was confirmed or rejected.
    assert (found["reason"], found["near_duplicate"]) == (None, False)
