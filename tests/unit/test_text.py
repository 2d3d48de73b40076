"""Text helpers and loopback addresses that every room shares."""

from daemon.core.network import is_loopback
from daemon.core.text import one_line, quoted, shortened, storable, visible_line


def test_text_becomes_storable_visible_and_short_and_loopback_is_this_machine() -> None:
    assert storable("a\ud83d\ude00b\ud800") == "a😀b�"
    assert storable("\ufeffplain") == "\ufeffplain"
    assert one_line("  a\n\tb ") == "a b"
    assert visible_line("e\u0301\u202e\n x\x00") == "é x"
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abc def", 5) == "abc…"
    assert quoted("a\nb") == "“a b”"
    for host, loopback in (
        *(("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("localhost", True), ("model.localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("slack.com", False), ("", False)),
    ):
        assert is_loopback(host) is loopback
