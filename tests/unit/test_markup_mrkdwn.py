"""The mrkdwn fallback says the same as the markdown without active markup, and no markdown stops it."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.link_safety import BREAK
from daemon.channels.slack.markup import inert
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.channels.slack.splitting import split
from tests.unit.hostile_markdown import hostile_markdown


def test_markdown_becomes_mrkdwn() -> None:
    table = {
        "**bold** and __bold__": "*bold* and *bold*",
        "*it* ***both*** ~~no~~": "_it_ _*both*_ ~no~",
        "**a ~~b **c** d~~**": "*a ~b c d~*",
        "# Head **strong** `x`": "*Head strong `x`*",
        "Head\n====": "*Head*",
        "[docs](https://example.com/a?x=1&y=2)": "<https://example.com/a?x=1&amp;y=2|docs>",
        "[a|b > c](https://example.com/|)": "<https://example.com/%7C|a\u00a6b &gt; c>",
        "<https://example.com>": "<https://example.com>",
        "[](https://example.com)": "(<https://example.com>)",
        "[good.com](https://evil.example)": "good.com (<https://evil.example>)",
        "[call](tel:112)": "call (tel:112)",
        "[here](docs/a.md)": "here",
        "[x](<https://example.com/a b>)": "<https://example.com/a%20b|x>",
        "![cat](https://example.com/c.png)": "<https://example.com/c.png|cat>",
        "a < b && c > d": "a &lt; b &amp;&amp; c &gt; d",
        "AT&amp;T &lt;b&gt; \\*x\\* \\<y": "AT&amp;T &lt;b&gt; *x* &lt;y",
        "`a<b`": "`a&lt;b`",
        "- a\n- b\n  1. c\n  2. d": "\u2022 a\n\u2022 b\n    1. c\n    2. d",
        "3. c\n4. d\n5.": "3. c\n4. d\n5.",
        "> a\n> b\n>\n> c": "> a\n> b\n> \n> c",
        "a\n\n---\n\nb": "a\n\n" + "\u2014" * 8 + "\n\nb",
        "```python\nx < 1\n```": "```\nx &lt; 1\n```",
        "    indented": "```\nindented\n```",
        "````\n```\n````": f"```\n``{BREAK}`\n```",
        "| a | bb |\n|---|:-:|\n| 漢字 | **c** |\n| e\u0301 | |": (
            "```\na    | bb\n-----+---\n漢字 | c\ne\u0301    |\n```"
        ),
        "one  \ntwo\nthree": "one\ntwo\nthree",
        "[two\nlines](https://example.com)": "<https://example.com|two lines>",
        "| [x](https://e.example) a |\n|---|": "```\nx a\n---\n```",
        "": "",
        "<b>html</b>": "&lt;b&gt;html&lt;/b&gt;",
        "<!channel> @channel &lt;!here&gt;": f"&lt;!channel&gt; @{BREAK}channel &lt;!here&gt;",
        "@**here** @&#104;ere": f"@*here* @{BREAK}here",
        "<@U1ADA> `<@U1ADA>`": "&lt;@U1ADA&gt; `&lt;@U1ADA&gt;`",
    }
    assert {markdown: to_mrkdwn(markdown) for markdown in table} == table


def test_marks_are_read_in_chinese_japanese_and_korean_and_shown_by_slack() -> None:
    table = {
        "**「注意」**を見て": "*「注意」*\u200bを見て",
        "これは*重要*です": "これは\u200b_重要_\u200bです",
        "これは**重要。**です": "これは\u200b*重要。*\u200bです",
        "这是**“重点”**内容": "这是\u200b*“重点”*\u200b内容",
        "~~『旧』~~新": "~『旧』~\u200b新",
        "**'API'(인증)**를 쓰세요": "*'API'(인증)*\u200b를 쓰세요",
        "한국어 **굵게** 표시": "한국어 *굵게* 표시",
        "漢字\u3000** 字 **": "漢字\u3000** 字 **",
        "変数_名_です 2*3": "変数_名_です 2*3",
        "un**bold**ly": "un\u200b*bold*\u200bly",
        "**注**、**意**": "*注*\u200b、\u200b*意*",
        '**"x"**y': '**"x"**y',
        'x 🎉**"x"**y': 'x 🎉**"x"**y',
    }
    assert {markdown: to_mrkdwn(markdown) for markdown in table} == table


FRAGMENTS = [
    *("<!channel>", "<@U1ADA>", "<@U2BOB>", "@here", "**", "*", "_", "~~", "`", "```\n", "\n", "\n\n", "- ", "> "),
    *("# ", "| a |\n|---|\n", "[x](javascript:y)", "[x](https://e.example)", "[good.com](https://e.example)", "!["),
    *("](", ")", "&lt;!here&gt;", "<", ">", "&", "word", " ", "\\", "<https://e.example|x>", "1. ", "    "),
]


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=25).map("".join))
def test_the_fallback_has_no_active_markup(markdown: str) -> None:
    for text in (markdown, inert(markdown)):
        mrkdwn = to_mrkdwn(text)
        angled = re.findall(r"<[^>]*>?", mrkdwn)
        assert all(re.fullmatch(r"<(?:https?|mailto):[^<>|\s]*(?:\|[^<>|]*)?>", part) for part in angled), mrkdwn
        assert not re.search("@(?:channel|here|everyone)", mrkdwn, re.IGNORECASE)


def test_marks_are_rendered_as_deep_as_people_write_them_and_survived_however_deep() -> None:
    for kind, text in CLOSED.items():
        assert "x" in to_mrkdwn(text), kind
    assert to_mrkdwn("**a _b ~~c~~_**") == "*a _b ~c~_*"
    shown = to_mrkdwn("*a " * 60 + "x" + "*" * 60)
    assert shown.startswith("_a a a")
    assert shown.count("a") == 60
    assert to_mrkdwn("| a | b |\n|---|---|\n" + "| a | b |\n" * 40).startswith("```\na | b")
    huge = "|" + " a |" * 60 + "\n|" + "---|" * 60 + "\n" + ("|" + " b |" * 60 + "\n") * 60
    assert to_mrkdwn(huge).startswith("| a |")
    for unit in ("> ", "- ", "**", "[", "*_"):
        assert isinstance(to_mrkdwn(unit * 3000 + "x"), str)


_DEPTH = 3_000
HOSTILE = 20
CLOSED = {
    "emphasis": "*a " * _DEPTH + "x" + "*" * _DEPTH,
    "emphasis and strong": "**_a " * _DEPTH + "x" + "_**" * _DEPTH,
    "strikethrough": "~~a " * _DEPTH + "x" + "~~" * _DEPTH,
    "images": "![" * _DEPTH + "x" + "](y)" * _DEPTH,
    "links": "[" * _DEPTH + "x" + "](y)" * _DEPTH,
    "emphasis in a link": "[" + "*a " * 900 + "x" + "*" * 900 + "](https://a.example)",
    "quotes": "> " * _DEPTH + "x",
    "lists": "- " * _DEPTH + "x",
    "two hundred levels": "*a " * 200 + "x" + "*" * 200,
    "a wide table": "|" * 4_000 + "\n" + "|-" * 4_000 + "|\n" + "|x|\n" * 2_000,
}


def test_a_hostile_text_is_rendered_part_by_part() -> None:
    for seed in range(HOSTILE):
        for part in split(inert(hostile_markdown(random.Random(seed)))):
            assert isinstance(to_mrkdwn(inert(part)), str), seed
