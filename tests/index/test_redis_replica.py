"""The replica of the journal of an index in Redis: how it follows the journal."""

from .backends import FAR, found

A, B, C, D = FAR


def test_a_journal_that_was_compacted_is_read_again(redis_backend):
    with redis_backend.open(incremental=True) as one, redis_backend.open() as other:
        for key, fingerprint in (("a", A), ("b", B), ("c", C)):
            one.confirm(one.observe(key, fingerprint))
        assert found(other.query(B)) == [("b", B, 0)]
        one.remove(["a"])
        assert one._store.compact() == 1
        other.confirm(other.observe("d", D))
        for index in (one, other):
            for key, fingerprint in (("b", B), ("c", C), ("d", D)):
                assert found(index.query(fingerprint)) == [(key, fingerprint, 0)]
            assert index._store._replica.end.rows == 3


def test_a_server_that_lost_rows_and_got_others_is_read_again(redis_backend):
    """As after a failover: the replica of a master may lack the last rows."""
    with redis_backend.open(incremental=True) as one, redis_backend.open() as other:
        for key, fingerprint in (("a", A), ("b", B)):
            one.confirm(one.observe(key, fingerprint))
        assert found(one.query(B)) == found(other.query(B)) == [("b", B, 0)]
        one._store.server.call("RPOP", one._store.layout.journal)
        one.remove(["b"])
        other.confirm(other.observe("c", C))
        assert one._store._replica.end.rows == 2  # as many as the journal has again
        assert one.observe("copy", C).representative == "c"


def test_a_long_journal_is_read_in_parts(redis_backend, monkeypatch):
    from scrapy_simhash.index.redis import scripts

    monkeypatch.setattr(scripts, "ROWS_AT_ONCE", 2)
    body = scripts.OBSERVE.source.removeprefix(scripts._LIBRARY)
    monkeypatch.setattr(scripts, "OBSERVE", scripts.Script("ROWS_AT_ONCE = 2\n" + body))
    with redis_backend.open(incremental=True) as one:
        for key, fingerprint in zip("abcd", FAR, strict=True):
            one.confirm(one.observe(key, fingerprint))
    for use in (lambda index: index.query(D), lambda index: index.observe("copy", D)):
        with redis_backend.open(incremental=True) as other:
            use(other)
            assert other._store._replica.end.rows == 4
            assert other.observe("copy", D).representative == "d"
