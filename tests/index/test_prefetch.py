"""Fingerprints that are looked up together; `test_observe_all` compares with one by one."""

import pytest

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import TablePlan

from .backends import KINDS, make_backend

PROBED = TablePlan(128, 6, prefix_bits=12, probes=40)
K = 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_up_ends_when_an_entry_is_written_or_removed(tmp_path, kind):
    """One handle looks up, another one of the same process writes."""
    fingerprint, evidence = 1 << 100, Evidence(certainty=bytes(128))
    backend = make_backend(kind, tmp_path / "index", PROBED)
    with (
        backend.open(max_distance=K, confirmation=UNCONFIRMED) as index,
        backend.open(max_distance=K, confirmation=UNCONFIRMED) as other,
    ):
        index.prefetch([(fingerprint, evidence)])
        other.confirm(other.observe("page", fingerprint ^ 1))
        assert index.observe("copy", fingerprint, evidence).representative == "page"
        index.prefetch([(fingerprint, evidence)])
        other.confirm(other.observe("page", fingerprint ^ (1 << 64) - 1))
        assert index.observe("copy", fingerprint, evidence).kind == "new"
