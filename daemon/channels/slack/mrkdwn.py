"""The conversion of markdown to Slack's mrkdwn, for clients and notifications without markdown blocks."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from string import punctuation

from markdown_it import MarkdownIt
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from daemon.channels.slack.link_safety import BREAK, allowed_scheme, honest
from daemon.channels.slack.markup import break_everyone

_DEEPEST = 24  # nested inline marks
_MOST_CELLS = 2_000
_MOST_MARKS = 1_500  # a text of 11,500 characters has some hundreds
_COSTLY = re.compile(r"[\[\]*_~`<]")
# Nested quotes and lists. Text deeper than the parser's limit would be lost.
_NESTING = 60
_TOO_DEEP = re.compile(r"^(?:[ \t]{80}|(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){20})", re.MULTILINE)
_UNDER_HEADER = re.compile(r"[ \t>*+\-\d.|:]*-[ \t>*+\-\d.|:]*")
_RULE = "\u2014" * 8
_BULLET = "\u2022"
_MARKED = frozenset({"strong", "em", "s"})
_GAP = "\u200b"  # a ZERO WIDTH SPACE: Slack reads no mark that touches a letter


def to_mrkdwn(markdown: str) -> str:
    """Render markdown as mrkdwn: `& < >` escaped, no mentions, only honest links.

    Slack: formatting text for app surfaces. Tables become aligned code blocks. Code loses its language. A text with far
    too many marks, or with marks that can't be rendered, keeps them unchanged.
    """
    try:
        return break_everyone(_rendered(markdown))
    except Exception:  # noqa: BLE001  # the words are shown despite any error of the parser
        return break_everyone(_escape(markdown))


def _rendered(markdown: str) -> str:
    if len(_COSTLY.findall(markdown)) > _MOST_MARKS or _TOO_DEEP.search(markdown):
        return _escape(markdown)
    parser = (
        MarkdownIt("commonmark", {"maxNesting": _NESTING})
        .enable("strikethrough")
        .disable(["html_block", "html_inline"])
    )
    parser.inline.ruler.at("emphasis", _between_asian(emphasis.tokenize))
    parser.inline.ruler.at("strikethrough", _between_asian(strikethrough.tokenize))
    if _cells(markdown) <= _MOST_CELLS:
        parser.enable("table")
    tokens = parser.parse(markdown)
    for token in tokens:
        token.children = _shallow(token.children) if token.children else token.children
    return _Writer().blocks(SyntaxTreeNode(tokens).children)


def _between_asian(tokenize: RuleFuncInlineType) -> RuleFuncInlineType:
    """Return the rule for marks with an amendment for Chinese, Japanese and Korean.

    There only white space keeps a mark from opening or closing. CommonMark expects a blank between a word and a mark
    that a bracket follows; these scripts have none. This is the amendment of markdown-cjk-friendly. `_` still splits no
    word.
    """

    def rule(state: StateInline, silent: bool) -> bool:
        start, known = state.pos, len(state.delimiters)
        found = tokenize(state, silent)
        before, after = state.src[start - 1 : start], state.src[state.pos : min(state.pos + 1, state.posMax)]
        if state.src[start] != "_" and _holds_asian(before + after):
            for mark in state.delimiters[known:]:
                mark.open, mark.close = bool(after.strip()), bool(before.strip())
        return found

    return rule


def _holds_asian(characters: str) -> bool:
    return any(unicodedata.east_asian_width(one) in "WFH" and unicodedata.category(one) != "So" for one in characters)


def _cells(markdown: str) -> int:
    """Return the most cells that a parser makes of the text's tables.

    Each row has as many as the line below the header.
    """
    cells, columns = 0, 0
    for line in markdown.splitlines():
        if not line.strip(" >"):
            columns = 0
        elif _UNDER_HEADER.fullmatch(line):
            columns = max(columns, line.count("|") + 1)
        cells += columns
    return cells


def _shallow(tokens: Sequence[Token]) -> list[Token]:
    kept, level = [], 0
    for token in tokens:
        level += max(token.nesting, 0)
        if not token.nesting or level <= _DEEPEST:
            kept.append(token)
        level += min(token.nesting, 0)
    return kept


class _Writer:
    """The writer of a syntax tree as mrkdwn. The parser bounds the depth of blocks, `_shallow` that of marks."""

    def __init__(self) -> None:
        self._blocks: dict[str, Callable[[SyntaxTreeNode], str]] = {
            "paragraph": lambda node: self.inlines(node.children),
            "heading": lambda node: f"*{self.inlines(node.children, inside='strong').strip('*')}*",
            "fence": lambda node: _code_block(node.content),
            "code_block": lambda node: _code_block(node.content),
            "blockquote": lambda node: _indent(self.blocks(node.children), "> ", "> "),
            "bullet_list": lambda node: self._list(node, lambda _: f"{_BULLET} "),
            "ordered_list": lambda node: self._list(node, lambda at: f"{int(node.attrs.get('start', 1)) + at}. "),
            "table": self._table,
            "hr": lambda _: _RULE,
        }
        self._inlines: dict[str, Callable[[SyntaxTreeNode, str], str]] = {
            "text": lambda node, _: _escape(node.content),
            "text_special": lambda node, _: _escape(node.content),
            "code_inline": lambda node, _: f"`{_escape(node.content)}`",
            "strong": lambda node, inside: self._marked("*", "strong", node, inside),
            "em": lambda node, inside: self._marked("_", "em", node, inside),
            "s": lambda node, inside: self._marked("~", "s", node, inside),
            "link": self._link,
            "image": lambda node, _: _link(_escape(node.content), node.content, str(node.attrs.get("src", ""))),
            "softbreak": lambda _, __: "\n",
            "hardbreak": lambda _, __: "\n",
            "inline": lambda node, inside: self.inlines(node.children, inside=inside),
        }

    def blocks(self, nodes: Sequence[SyntaxTreeNode], between: str = "\n\n") -> str:
        return between.join(self._blocks[node.type](node) for node in nodes)

    def inlines(self, nodes: Sequence[SyntaxTreeNode], *, inside: str = "") -> str:
        """Return the inline nodes in a row. `inside` names the open markup, which can't be nested in itself."""
        written, last, marked = list[str](), "", False
        for node in nodes:
            if words := self._inlines[node.type](node, inside):
                marks = node.type in _MARKED and node.type != inside
                if (marks and _touches(last)) or (marked and _touches(words[0])):
                    written.append(_GAP)
                written.append(words)
                last, marked = words[-1], marks
        return "".join(written)

    def _marked(self, mark: str, kind: str, node: SyntaxTreeNode, inside: str) -> str:
        content = self.inlines(node.children, inside=inside or kind)
        return content if inside == kind or not content.strip() else f"{mark}{content}{mark}"

    def _link(self, node: SyntaxTreeNode, inside: str) -> str:
        label = self.inlines(node.children, inside=inside)
        return _link(label, _words(node), str(node.attrs.get("href", "")))

    def _list(self, node: SyntaxTreeNode, marker: Callable[[int], str]) -> str:
        items = []
        for at, item in enumerate(node.children):
            sign = marker(at)
            items.append(_indent(self.blocks(item.children, "\n"), sign, " " * 4) if item.children else sign.strip())
        return "\n".join(items)

    def _table(self, node: SyntaxTreeNode) -> str:
        rows = [[_words(cell) for cell in row.children] for part in node.children for row in part.children]
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        lines = [
            " | ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return _code_block("\n".join(lines))


def _touches(character: str) -> bool:
    """Return True if Slack shows a mark next to this character literally."""
    return bool(character.strip()) and character not in punctuation


def _link(label: str, words: str, address: str) -> str:
    scheme = address.partition(":")[0] if ":" in address else ""
    target = _escape(address).replace("|", "%7C")
    if not allowed_scheme(scheme) or any(character.isspace() for character in address):
        return f"{label} ({target})" if scheme else label
    if words.strip() == address:
        return f"<{target}>"
    if not words.strip() or not honest(words, address):
        return f"{label} (<{target}>)".strip()
    return f"<{target}|{_unlinked(label)}>"


def _unlinked(label: str) -> str:
    return label.replace("<", "").replace(">", "").replace("\n", " ").replace("|", "\u00a6")


def _words(node: SyntaxTreeNode) -> str:
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    return node.content if not node.children else "".join(_words(child) for child in node.children)


def _code_block(content: str) -> str:
    inside = _escape(content.strip("\n")).replace("```", f"``{BREAK}`")
    return f"```\n{inside}\n```"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _indent(text: str, first: str, rest: str) -> str:
    return first + text.replace("\n", f"\n{rest}")


def _width(text: str) -> int:
    """Return the columns in a monospaced font: wide East Asian characters take two, combining characters none."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
