"""A mapping of bounded size, whose entries may expire."""

from daemon.core.lru import Lru


def test_it_keeps_the_keys_that_were_set_last() -> None:
    kept = Lru[str, int](2)
    kept["a"], kept["b"], kept["a"], kept["c"] = 1, 2, 3, 4
    assert dict(kept) == {"a": 3, "c": 4}
    assert (kept.get("b"), kept.pop("a"), len(kept)) == (None, 3, 1)
    kept.clear()
    assert not kept


def test_what_is_older_than_its_time_is_missing() -> None:
    now = 0.0
    kept = Lru[str, int](9, ttl=10.0, now=lambda: now)
    kept["a"] = 1
    now = 5.0
    kept["b"] = 2
    now = 9.9
    assert dict(kept) == {"a": 1, "b": 2}
    now = 10.0
    assert ("a" in kept, kept.get("a"), dict(kept)) == (False, None, {"b": 2})
    kept["a"] = 3
    assert kept["a"] == 3
