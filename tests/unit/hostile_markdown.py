"""Generated markdown that tries to break its readers: deep nesting, closed and unclosed, tables, links, code."""

import random

_MARKS = (
    *("*", "**", "_", "__", "~~", "`", "***", "[", "![", "(", "<", "](", "> ", "- ", "1. ", "#", "|", "\\", "&lt;"),
    *("\n", "~"),
)
_WORDS = (
    *("x", "a b", "word", "\u8def", "\U0001f469\u200d\U0001f467", "https://evil.example/?d=1", "<@U0ADA>", "@channel"),
    *("e\u0301", "&#42;", " "),
)
_LONGEST = 60_000  # characters


def hostile_markdown(chance: random.Random) -> str:
    size = int(10 ** chance.uniform(0, 4.78))
    kinds = (_nested, _unclosed, _quotes, _table, _links, _soup, _code, _lists)
    text = ""
    while len(text) < size:
        text += chance.choice(kinds)(chance, size - len(text)) + chance.choice(("\n", "\n\n", " ", ""))
    return text[: min(size, _LONGEST)]


def _nested(chance: random.Random, room: int) -> str:
    marks = chance.choice(("*", "_", "**", "~~", "*_", "[", "![", "**_", "`"))
    depth = chance.randint(1, max(1, min(room, 12_000) // (2 * len(marks) + 2)))
    opening, closing = marks + chance.choice(("", "a ", "a")), marks[::-1]
    if marks in ("[", "!["):
        closing = chance.choice(("](x)", "]", "](https://a.example/x)"))
        depth = max(1, depth // 4)
    return opening * depth + "x" + closing * depth


def _unclosed(chance: random.Random, room: int) -> str:
    unit = chance.choice(
        ("**", "*a ", "[", "![a](", "`", "```", "](", "<", "_", "~~", "|", "> ", "\\", "&", "<a ", "[a](<", "[a]: ")
    )
    return unit * chance.randint(1, max(1, min(room, 20_000) // len(unit)))


def _quotes(chance: random.Random, room: int) -> str:
    return chance.choice(("> ", "- ", "1. ", "  - ")) * chance.randint(1, max(1, min(room, 4_000) // 3)) + "x"


def _table(chance: random.Random, room: int) -> str:
    columns = chance.randint(1, max(1, min(room // 4, 3_000)))
    rows = chance.randint(1, max(1, min(room // 2, 6_000)))
    cell = chance.choice(("", "a", "**b**", "`c`"))
    line = chance.choice(("|", "a", "x|", "|" + f"{cell}|" * min(columns, 50)))
    return "|" * (columns + 1) + "\n" + "|" + "-|" * columns + "\n" + (line + "\n") * rows


def _links(chance: random.Random, room: int) -> str:
    angled, inline = "<https://b.example|c>", "[a](https://b.example/c?d=e) "
    unit = chance.choice((inline, angled, "[a][b] ", "[b]: https://c.example\n", "https://x.example/a)("))
    return unit * chance.randint(1, max(1, min(room, 20_000) // len(unit)))


def _soup(chance: random.Random, room: int) -> str:
    return "".join(chance.choice(_MARKS if chance.random() < 0.6 else _WORDS) for _ in range(min(room, 3_000)))


def _code(chance: random.Random, room: int) -> str:
    fence = chance.choice(("```", "````", "~~~", "   ```", "`"))
    body = "line <@U0ADA> `x`" * chance.randint(1, 200)
    return f"{fence}{chance.choice(('', 'py'))}\n{body}\n{chance.choice((fence, ''))}"


def _lists(chance: random.Random, room: int) -> str:
    return "".join("  " * at + "- a\n" for at in range(chance.randint(1, max(1, min(room // 8, 60)))))
