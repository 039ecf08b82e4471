from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.confirmation import site_number
from scrapy_simhash.content import capitalized, content_bytes
from scrapy_simhash.detector import Detector
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.extraction import Extraction
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.index import open_index
from scrapy_simhash.names.identities import chosen_identity, identity_bytes
from scrapy_simhash.names.names import Names, page_names
from scrapy_simhash.scheme import PRESETS, Scheme
from scrapy_simhash.sketch import sketch
from tests.samples import CHINESE, ENGLISH, FOOTER, PARAGRAPHS, article_page, name_bytes

SCHEME = Scheme.preset("wide")
PAGE = article_page()
# The same article on another site, with a correction.
COPY = article_page(
    *(PARAGRAPHS[0].replace("Saturday", "Sunday"), *PARAGRAPHS[1:]), aside="Home Search About"
)
OTHER = article_page(
    "Nobody knows who first planted seagrass in the bay, but the meadow is older than the town.",
    "Divers count the shoots every spring. Last year they found twice as many as ten years ago, "
    "and seahorses among them; the fishermen, who had been sceptical, now bring visitors.",
    "The biologists warn that anchors tear up what took decades to grow, and ask for buoys.",
)


class TestFingerprint:
    @pytest.mark.parametrize("preset", PRESETS)
    def test_a_page_has_the_fingerprint_of_its_main_text(self, preset):
        scheme = Scheme.preset(preset)
        page = Detector(scheme).fingerprint_page(PAGE.replace("é", "e"))
        text = "\n".join(["A new ferry", *PARAGRAPHS]).replace("é", "e")
        assert page.fingerprint == scheme.fingerprint(text)
        assert page.tokens == len(scheme.tokens(text))
        assert page.skipped is None
        assert page.error is None

    def test_a_text_that_the_hash_does_not_support_is_skipped(self):
        detector = Detector(Scheme.preset("ascii-mt19937"))
        page = detector.fingerprint_text(CHINESE)
        assert (page.skipped, page.fingerprint, page.error) == ("unsupported_text", None, None)
        assert page.tokens == len(CHINESE)
        with open_index("memory:", detector.scheme) as index:
            verdict = detector.judge(index, "a", page)
            assert (verdict.kind, verdict.reason) == ("skipped", "unsupported_text")
            assert len(index) == 0
        assert detector.fingerprint_text(" ".join(PARAGRAPHS).replace("é", "e")).skipped is None


class TestEvidence:
    def test_a_page_has_sketch_site_title_heading_and_certainty(self):
        page = article_page(
            *PARAGRAPHS, head='<link rel="canonical" href="https://www.ferry.example/news">'
        )
        found = Detector(SCHEME).fingerprint_page(page)
        text = "\n".join(["A new ferry", *PARAGRAPHS])
        tokens = SCHEME.tokens(text)
        said = [*tokens, FOOTER, capitalized(text)]
        names = Names("Ferry news", ["A new ferry"], sites=["ferry.example"])
        title, heading = page_names(names, text)
        assert heading[:10] == name_bytes("A new ferry")
        assert found.evidence == Evidence(
            sketch=sketch(token_hashes(tokens)),
            site=site_number("ferry.example"),
            title=title,
            heading=heading,
            certainty=SCHEME.certain_fingerprint(tokens).certainty,
            content=content_bytes(said, token_hashes(said)),
            label=b"A new ferry",
        )

    def test_without_sketches_there_are_only_the_certainty_and_what_the_user_chose(self):
        found = Detector(SCHEME, sketches=False).fingerprint_page(PAGE)
        with_sketch = Detector(SCHEME).fingerprint_page(PAGE)
        assert found.fingerprint == with_sketch.fingerprint
        evidence = Evidence(certainty=with_sketch.evidence.certainty, label=b"A new ferry")
        assert found.evidence == evidence
        chosen = Detector(SCHEME, sketches=False, distinct=("h1",)).fingerprint_page(PAGE)
        identity = chosen_identity({"h1": ["A new ferry"]})
        assert chosen.evidence == evidence._replace(identity=identity)

    def test_an_identity_of_a_record_is_beside_its_text_and_chosen_fields_are_too(self):
        texts = {"text": [ENGLISH]}
        found = Detector(SCHEME).fingerprint_fields(texts, {"Sku": ["A-1"]}, {"size": ["XL"]})
        identity = identity_bytes([("sku", "a-1")]) + chosen_identity({"size": ["XL"]})
        assert found.evidence.identity == identity

    @pytest.mark.parametrize("field", ["title", "name", "headline"])
    def test_a_field_beside_the_text_is_the_name_of_a_record(self, field):
        detector = Detector(SCHEME)
        text = {"text": PARAGRAPHS}
        unnamed, named = (
            detector.fingerprint_fields(text, beside)
            for beside in (None, {field: ["<b>Ferry</b>"]})
        )
        among = detector.fingerprint_fields({**text, field: ["Ferry"]})
        assert named.fingerprint == unnamed.fingerprint != among.fingerprint
        assert named.text == unnamed.text
        assert named.evidence.title == among.evidence.title != unnamed.evidence.title

    @pytest.mark.parametrize(
        ("key", "site"),
        [
            ("https://www.news.example.co.uk/a", "example.co.uk"),
            ("GET https://shop.example.com:8080/ body", "example.com"),
            ("http://10.0.0.1/a", "10.0.0.1"),
            ("record 17", "ferry.example"),
        ],
    )
    def test_a_url_in_the_key_replaces_the_site(self, key, site):
        page = Detector(SCHEME).fingerprint_page(
            article_page(head='<base href="https://ferry.example/">')
        )
        with open_index("memory:", SCHEME) as index:
            index.confirm(Detector(SCHEME).judge(index, key, page).observation)
            assert index.entry(key).evidence.site == site_number(site)


class TestVerdict:
    @pytest.fixture
    def index(self):
        with open_index("memory:", SCHEME) as index:
            yield index

    def test_check_stores_what_is_no_copy(self, index):
        detector = Detector(SCHEME)
        assert detector.check(index, "a", PAGE).kind == "new"
        assert len(index) == 1
        assert detector.check(index, "b", COPY).representative == "a"
        assert detector.check(index, "c", "").kind == "skipped"
        assert len(index) == 1
        assert detector.check(index, "a", OTHER).kind == "changed"
        assert detector.check(index, "b", COPY).kind == "new", "its representative was replaced"

    def test_check_text_takes_markup_literally(self, index):
        detector = Detector(SCHEME, min_tokens=3)
        words = "the ferry leaves at nine and returns at six in the evening from the old harbour"
        assert detector.check_text(index, "a", f"{words} <b>").kind == "new"
        verdict = detector.check_text(index, "b", f"{words} <b>!")
        assert (verdict.kind, verdict.representative) == ("near-duplicate", "a")
        assert len(index) == 1


@given(
    texts=st.lists(st.lists(st.sampled_from("a b c d e f g h ferry boat".split()), max_size=90)),
    bits=st.sampled_from([8, 64, 96, 256]),
    tie=st.sampled_from(["zero", "one"]),
    length=st.sampled_from([1, 3]),
)
def test_texts_together_are_as_one_by_one(texts, bits, tie, length):
    scheme = replace(Scheme.preset("wide"), bits=bits, tie=tie, shingle_length=length)
    detector = Detector(scheme, min_tokens=2)
    extractions = [Extraction(" ".join(text), title="Boats") for text in texts]
    together = detector.fingerprint_extractions(extractions)
    alone = [detector.fingerprint_extraction(extraction) for extraction in extractions]
    for one, other in zip(together, alone, strict=True):
        assert (one.fingerprint, one.evidence) == (other.fingerprint, other.evidence)
        assert one.skipped == other.skipped
