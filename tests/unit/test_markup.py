"""Text for Slack mentions no user and hides no link, whole and streamed."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.link_safety import BREAK, allowed_scheme, honest
from daemon.channels.slack.markup import InertStream, break_everyone, inert

ACTIVE = re.compile(
    r"<!(?!--|\[|doctype)|<#|<@|@(?:channel|here|everyone)"
    r"|<(?!https?:|mailto:)[a-z][a-z0-9+.-]{0,31}:(?!:)|<https?:[^\s<>|]*\|"
    r"|\]\(\s{0,16}<?(?!https?:|mailto:)[a-z][a-z0-9+.-]*:|&(?:lt|#60|#x3c);?[!@#]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]",
    re.IGNORECASE,
)
ATTACKS = [
    *("<!channel>", "<!here>", "<!everyone>", "<!here|here>", "<!subteam^S0TEAM>", "<!subteam^S0TEAM|@team>"),
    *("<!Channel>", "<!date^1^{date}|x>", "<@U0STRANGER>", "<@W0STRANGER|Ada>", "<#C0SECRET>", "<#C0SECRET|general>"),
    *("<@U0ADA", "@channel", "@here", "@Everyone", "&lt;!channel&gt;", "&#60;@U0ADA&#62;", "&lt!here>"),
    *("<javascript:alert(1)|x>", "[x](javascript:alert(1))", "[x](data:text/html,y)", "[x]( <vbscript:y>)"),
    *("<slack://open|x>", "[x](java&#115;cript:y)", "<\x00!channel>", "<!\u202echannel>", "@\x07here", "\U000e0041"),
    *("<https://evil.example|good.com>", "[a [b] c](file:///etc/passwd)", "![x](https://evil.example/?d=s)"),
]
HARMLESS = [
    *("Hello", " ", "\n", "```\n", "`", "a < b", "<div>", "std::vector<std::string>", "x[0](y)", "vec![1](2)", "&amp;"),
    *("me@example.com", "&lt;div&gt;", "https://example.com", "[docs](https://example.com/a?b=c#d)", "👩‍👩‍👧", "**b**"),
    *("]", "[", "(", ")", "<!-- c -->", "<!DOCTYPE html>", "<https://example.com>", "|", ">", "@", "!", "<"),
]
HOSTILE = st.sampled_from("<>@!#|[]()&;:/^hertpscanlvyoU0KNOWmi \n\x00\u202e")


def streamed(text: str, sizes: list[int]) -> str:
    """The inert text, fed in pieces of the given sizes in turn."""
    stream, out, at, turn = InertStream(), "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        out += stream.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    return out + stream.finish()


def check(text: str) -> str:
    """The inert text; a second pass and a stream must give the same."""
    safe = inert(text)
    assert not ACTIVE.search(safe), (text, safe)
    assert inert(safe) == safe
    assert streamed(text, [1]) == safe
    return safe


def test_an_attack_has_no_effect_anywhere_in_a_text() -> None:
    frames = ("{}", "a {} b", "```\n{}\n```", "`{}`", "> {}", "| {} |", "**{}**", "x{}{}", "[{}](https://e.example)")
    for frame in frames:
        for attack in ATTACKS:
            check(frame.replace("{}", attack))


def test_harmless_text_is_unchanged_and_disabled_markup_stays_readable() -> None:
    for text in (
        "plain words, a < b, <div class='x'>, List<int>, </p>, x && y, std::vector<std::string>",
        "hi, see <https://example.com/a?b=c>",
        "[docs](https://example.com/a_(b)?q=1#f) and [mail](mailto:me@example.com)",
        "[example.com](https://www.example.com/x) [example.com](https://docs.example.com)",
        "[https://example.com](https://example.com/a)",
        "[README.md](https://github.com/a/b) [main.py](https://github.com/a) [me@example.com](mailto:me@example.com)",
        "[relative](docs/a.md) [anchor](#x) f[0](x) vec![1, 2](3) ![alt](local.png)",
        "<!-- comment --> <!DOCTYPE html> <![CDATA[x]]>",
        "```python\n@dataclass\nclass A: ...\n```",
        "me@example.com, @ada, @her, @chan",
        "tabs\tand\nlines, \u05e9\u05dc\u05d5\u05dd, 👩‍👩‍👧, e\u0301",
        "&lt;div&gt; &amp; &copy; &# &l &#60; &#x3c",
        "unfinished <ht",
        "unfinished &l",
    ):
        assert check(text) == text
    table = {
        "<!channel>": f"<{BREAK}!channel>",
        "@here now": f"@{BREAK}here now",
        "<@U0STRANGER>": f"<{BREAK}@U0STRANGER>",
        "<https://example.com|the docs>": "[the docs](https://example.com)",
        "<https://example.com/(a)|the [docs]>": "[the (docs)](https://example.com/%28a%29)",
        "<https://example.com|>": "<https://example.com>",
        "<https://evil.example|good.com>": f"[good.com]{BREAK}(https://evil.example)",
        "[good.com](https://evil.example)": f"[good.com]{BREAK}(https://evil.example)",
        "[good.com](https://good.com.evil.example)": f"[good.com]{BREAK}(https://good.com.evil.example)",
        "[hi](https://good.com@evil.example)": f"[hi]{BREAK}(https://good.com@evil.example)",
        "[x](https://[bad)": f"[x]{BREAK}(https://[bad)",
        "[x](//evil.example)": f"[x]{BREAK}(//evil.example)",
        "![cat](https://evil.example/c.png)": f"![cat]{BREAK}(https://evil.example/c.png)",
        "no label](https://evil.example)": f"no label]{BREAK}(https://evil.example)",
        "[a](https://e.example" + "/a" * 600 + ")": f"[a]{BREAK}(https://e.example" + "/a" * 600 + ")",
        "<https://e.example/" + "a" * 2000 + "|x>": f"<{BREAK}https://e.example/" + "a" * 2000 + "|x>",
        "[x](": f"[x]{BREAK}(",
        "a\x00b\rc\u202ed\u2028e\ufefff\ud800g": "abcd\nefg",
        "<@U0A": f"<{BREAK}@U0A",
        "<!": f"<{BREAK}!",
    }
    assert {text: check(text) for text in table} == table


def test_a_stream_holds_back_only_what_may_become_a_construct_however_long_it_is() -> None:
    stream = InertStream()
    assert stream.feed("Hello <") == "Hello "
    assert stream.feed("div> and @her") == "<div> and "
    assert stream.feed("s, ") == "@hers, "
    assert len(stream.feed("<https://e.example/" + "a" * 100_000)) > 98_000
    assert stream.finish() == ""
    for unit in ("<https://e.example|x> ", "[[[", "](", "<", "&lt", "@chan", "<@U0ADA", "<!here>"):
        text = unit * (40_000 // len(unit))
        assert streamed(text, [997]) == inert(text)


def test_good_links_survive_beside_attacks() -> None:
    choice = random.Random(41)
    for number in range(200):
        parts = [choice.choice(choice.choice([ATTACKS, HARMLESS])) for _ in range(choice.randint(1, 6))]
        link = f" [see {number}](https://example.com/page/{number}) "
        assert link in check(f"{''.join(parts)}{link}{choice.choice(HARMLESS)}")


@given(st.lists(st.sampled_from(ATTACKS + HARMLESS), max_size=12), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_any_mixture_is_inert_whole_and_streamed(parts: list[str], sizes: list[int]) -> None:
    text = "".join(parts)
    assert streamed(text, sizes) == check(text)


@given(st.text(alphabet=st.one_of(HOSTILE, st.characters()), max_size=60))
def test_any_text_is_inert_whole_and_streamed(text: str) -> None:
    check(text)


def test_a_label_may_name_no_other_host_and_no_address_has_another_scheme() -> None:
    assert break_everyone("@channel <@U1> @HERE") == f"@{BREAK}channel <@U1> @{BREAK}HERE"
    table = {
        ("click here", "https://evil.example"): True,
        ("good.com", "https://evil.example"): False,
        ("go\u200bod.com", "https://evil.example"): False,
        ("\uff47\uff4f\uff4f\uff44.com", "https://evil.example"): False,
        ("https://good.com/a", "https://good.com/b"): True,
        ("https://good.com/a", "good.com/b"): True,
        ("www.good.com", "https://GOOD.com:8443/"): True,
        ("bob@good.com", "mailto:bob@evil.example"): False,
        ("bob@good.com", "mailto:bob@good.com?subject=x"): True,
        ("good.com and evil.com", "https://good.com"): False,
    }
    assert {(label, address): honest(label, address) for label, address in table} == table
    schemes = ("HTTP", "https", "mailto", "javascript", "file")
    assert [scheme for scheme in schemes if allowed_scheme(scheme)] == ["HTTP", "https", "mailto"]
