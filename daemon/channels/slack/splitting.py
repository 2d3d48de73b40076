"""The split of a long reply into messages that Slack accepts, and their arguments for chat.postMessage."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from daemon.channels.slack.arrivals import ANSWER_ACTIONS, APPROVAL_ACTIONS, FEEDBACK_ACTION
from daemon.channels.slack.link_safety import PART, PLAIN, SECTION, size, sizes
from daemon.channels.slack.markup import inert
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.core.pairing import CHOICES, answers_to
from daemon.core.ports.library import Post
from daemon.core.sentences import Words
from daemon.core.value import Value

LEAST = 1_000
FLOOR = 0.7
"""The least share of the limit that a part fills. A beginning up to that share is always in the first part."""
_FENCE = re.compile(r"^([ \t>]{0,32})(`{3,32}|~{3,32})([^`\n]{0,128})$")
_MARK = re.compile(r"[ \t>]{0,32}(?:```|~~~)[^\n]{0,160}\n?$")  # maybe a fence; no cut goes inside it
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"')\]\u201d\u2019*_]{0,3}\s+|[\u3002\uff01\uff1f]")
_WORD = re.compile(r"\s+")
_ZWJ = "\u200d"
_SKIN = range(0x1F3FB, 0x1F400)
_FLAG = range(0x1F1E6, 0x1F200)
_HANGUL = range(0x1160, 0x1200)  # vowels and finals that join the previous syllable
_TAGS = range(0xE0020, 0xE0080)
_INDENT = 3  # CommonMark: a closing fence is indented no further
_FARTHEST_BACK = 64  # characters; no language joins more of them into one
_ENTITY_BEGUN = re.compile(r"&(?:a|am|amp|l|lt|g|gt)?$")


class Fence(Value):
    """An open code fence: the line that opened it and the line that closes it."""

    opening: str
    closing: str


class Piece(Value):
    """A slice of the text with the fence lines that make it complete. `str()` is the message."""

    text: str
    opening: str = ""
    closing: str = ""

    def __str__(self) -> str:
        return f"{self.opening}{self.text}{self.closing}"


def split(markdown: str, limit: int = PART) -> tuple[str, ...]:
    """Return markdown in messages of at most `limit` bytes as Slack counts them, in order, or () for blank text.

    No split breaks code, table rows, sentences or characters where it can be avoided. Any prefix of the text up to
    `FLOOR` of the limit is a prefix of the first message. The first message depends only on the first `limit` bytes and
    on whether more follows. Raises ValueError for a limit under 1,000.
    """
    return tuple(str(piece) for piece in pieces(markdown, limit) if piece.text.strip())


def pieces(markdown: str, limit: int = PART) -> Iterator[Piece]:
    """Yield the slices from which `split` makes messages. Their texts joined are the markdown.

    An open fence is closed at the end of a piece and opened again, with its info string, in the next. A fence that the
    text never closes stays open in the last piece, whose end closes it (CommonMark).
    """
    if limit < LEAST:
        raise ValueError(f"a limit of {limit} bytes is too small; the least is {LEAST}")
    start, fence = 0, None
    while start < len(markdown):
        opening = fence.opening if fence else ""
        room = limit - size(opening)
        head = markdown[start : start + room + 1]
        if len(head) <= room and size(head) <= room:
            yield Piece(head, opening)
            return
        measured = sizes(head)
        fits, full = bisect_right(measured, room) - 1, bisect_left(measured, int(room * FLOOR))
        cut = _best(_cuts(markdown[start : start + fits], fence, full), measured, room, full)
        text = markdown[start : start + cut.position]
        fence = cut.fence
        yield Piece(text, opening, cut.repair)
        start += cut.position


class _Cut(Value):
    """A place to cut: the best rank wins, then the latest place. `fence` is open there, and `repair` closes it."""

    rank: int
    position: int
    repair: str = ""
    fence: Fence | None = None


# Ranks of places to cut, worst to best.
_ANYWHERE, _CHARACTER, _WORD_END, _SENTENCE_END, _CODE_LINE, _TABLE_ROW, _LINE_END, _PARAGRAPH = range(8)


def _best(cuts: list[_Cut], measured: Sequence[int], room: int, full: int) -> _Cut:
    """Return the best cut at or after the position `full`, else the best that fits.

    `measured` holds the size of every prefix of the part.
    """
    fitting = [cut for cut in cuts if measured[cut.position] + size(cut.repair) <= room]
    wanted = [cut for cut in fitting if cut.position >= full]
    return max(wanted or fitting, key=lambda cut: (cut.rank, cut.position))


def _cuts(head: str, fence: Fence | None, full: int) -> list[_Cut]:
    """Return every useful cut of `head`, which begins inside `fence`. Inside a line only cuts from `full` on count."""
    cuts = []
    for match in _LINE.finditer(head):
        line, before = match[0], fence
        fence = _after(line, before)
        if fence is before and match.end() > full and not _MARK.match(line):
            cuts += _within_line(head, match.start(), match.end(), before)
        opens_here = fence is not None and before is None
        if line.endswith("\n") and not opens_here:
            cuts.append(_Cut(_rank(line, fence), match.end(), fence.closing if fence else "", fence))
    return cuts


def _rank(line: str, fence: Fence | None) -> int:
    if fence:
        return _CODE_LINE
    if not line.strip():
        return _PARAGRAPH
    return _TABLE_ROW if line.lstrip(" >").startswith("|") else _LINE_END


def _after(line: str, fence: Fence | None) -> Fence | None:
    mark = _FENCE.match(line.rstrip("\n"))
    if mark is None:
        return fence
    if fence is None:
        return Fence(line.rstrip("\n") + "\n", f"{mark[1]}{mark[2]}")
    inner = fence.closing.lstrip(" \t>")
    deeper = len(mark[1]) - (len(fence.closing) - len(inner))
    closes = mark[2].startswith(inner) and not mark[3].strip() and deeper <= _INDENT
    return None if closes else fence


def _within_line(head: str, start: int, end: int, fence: Fence | None) -> list[_Cut]:
    """Return cuts inside one line: after sentences and words, and after the last whole character that fits."""
    repair = f"\n{fence.closing}" if fence else ""
    found = [(_SENTENCE_END, match.end()) for match in _SENTENCE.finditer(head, start, end)]
    found += [(_WORD_END, match.end()) for match in _WORD.finditer(head, start, end)]
    last = min(end - 1, len(head) - size(repair))
    first = max(start + 1, last - _FARTHEST_BACK)
    whole = next(((_CHARACTER, at) for at in range(last, first - 1, -1) if _is_boundary(head, at)), (_ANYWHERE, last))
    found = [(rank, at) for rank, at in found if at < end and _is_boundary(head, at)]
    return [_Cut(rank, at, repair, fence) for rank, at in (*found, whole) if start < at]


def _is_boundary(text: str, at: int) -> bool:
    """Return True if a cut splits no visible character (the practical part of Unicode's text segmentation).

    A run of backticks isn't cut either, and never begins a part, where it would open or close a fence.
    """
    before, after = text[at - 1], text[at]
    if text.startswith(("```", "~~~"), at) or (before == after and after in "`~"):
        return False
    if _ENTITY_BEGUN.search(text[max(0, at - 4) : at]) and (after.isalpha() or after == ";"):
        return False
    joined = unicodedata.category(after).startswith("M") or ord(after) in _SKIN or ord(after) in _HANGUL
    if joined or _ZWJ in {before, after} or ord(after) in _TAGS:
        return False
    flags = 0
    while flags < at and ord(text[at - 1 - flags]) in _FLAG:
        flags += 1
    return not (flags % 2 and ord(after) in _FLAG)


EVENT_TYPE: Final = "soul_reply"
_FALLBACK_READ: Final = 8_000  # characters of a text whose beginning fills the fallback
_MOST_DATES: Final = 8  # occurrences of one time in a piece
_A_DATE: Final = 60 * _MOST_DATES  # characters that the dates add
_BLANK: Final = "\u2026"
_STYLES: Final = {"approve": "primary", next(iter(CHOICES)): "primary", "refuse": "danger"}


def metadata(post: Post, piece: int = 0, of: int = 1) -> dict[str, Any]:
    """Return the post's key as Slack's message metadata. A post in several plain messages numbers its pieces."""
    numbers = {"piece": piece, "pieces": of} if of > 1 else {}
    return {"event_type": EVENT_TYPE, "event_payload": {"key": post.key, "part": post.part, **numbers}}


def pieces_of(message: dict[str, Any]) -> tuple[int, int]:
    """Return the number of a piece of ours, from 0, and the number of pieces. A whole message is 0 of 1."""
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    piece, of = payload.get("piece", 0), payload.get("pieces", 1)
    return (piece, of) if isinstance(piece, int) and isinstance(of, int) else (0, 1)


def key_of(message: dict[str, Any]) -> str | None:
    """Return the key in a message's metadata, or None."""
    found = message.get("metadata")
    if not isinstance(found, dict) or found.get("event_type") != EVENT_TYPE:
        return None
    payload = found.get("event_payload")
    key = payload.get("key") if isinstance(payload, dict) else None
    return key if isinstance(key, str) else None


def rich(post: Post) -> dict[str, Any]:
    """Return blocks, and a short text for notifications and old clients."""
    if post.dates:
        return sectioned(post)  # markdown blocks show no dates
    body = inert(post.body)
    text = _beginning(to_mrkdwn(f"{body[:_FALLBACK_READ]}{_listed(post)}"))
    return {"text": text, "blocks": [{"type": "markdown", "text": body}, *buttons(post)]}


def shown_once(text: str) -> dict[str, Any]:
    """Return the ephemeral answer to a slash command."""
    body = inert(text)
    shown = {"text": _beginning(to_mrkdwn(body[:_FALLBACK_READ])), "blocks": [{"type": "markdown", "text": body}]}
    return {"response_type": "ephemeral", "replace_original": False} | shown


def sectioned(post: Post) -> dict[str, Any]:
    """Return the text in section blocks, which every client shows with the buttons of an approval request."""
    text = to_mrkdwn(inert(post.body))
    room = max(SECTION // 2, SECTION - _A_DATE * len(post.dates))
    pieces_ = [with_dates(piece, post.dates) for piece in split(text, room)]
    sections = [{"type": "section", "text": {"type": "mrkdwn", "text": piece}} for piece in pieces_]
    return {"text": with_dates(_beginning(text), post.dates), "blocks": [*sections, *buttons(post)]}


def plain(post: Post) -> tuple[dict[str, Any], ...]:
    """Return the text without blocks, in as many messages as needed. The empty list removes a draft's blocks."""
    texts = split(to_mrkdwn(f"{inert(post.body)}{_listed(post)}"), PLAIN) or (_BLANK,)
    return tuple({"text": with_dates(text, post.dates), "blocks": []} for text in texts)


def with_dates(mrkdwn: str, dates: Mapping[str, int]) -> str:
    """Return text whose times of the daemon become Slack dates in each reader's time zone (Slack: date formatting).

    A client without dates shows the time as written. Nothing else in the text becomes a date.
    """
    for shown, ms in dates.items():
        mrkdwn = mrkdwn.replace(shown, f"<!date^{ms // 1000}^{{date_num}} {{time}}|{shown}>", _MOST_DATES)
    return mrkdwn


def _beginning(text: str) -> str:
    return str(next(pieces(text, PLAIN), _BLANK))


def buttons(post: Post) -> list[dict[str, Any]]:
    """Return the buttons of a post: the answers to a request or a question, and feedback under a reply's last part.

    A revised post that states a decision is no last part. A post that closes a stopped reply has no buttons.
    """
    if post.closes:
        return []
    if post.approval is not None:
        return [{"type": "actions", "elements": [_answer(act, post) for act in answers_to(post.approval)]}]
    below = [_feedback(post.words)] if post.last else []
    if not post.answers:
        return below
    return [{"type": "actions", "elements": list(map(_offered, ANSWER_ACTIONS, post.answers))}, *below]


def _feedback(words: Words) -> dict[str, Any]:
    """Return the two feedback buttons (Slack: context actions block)."""
    element = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK_ACTION,
        "positive_button": _button(words, "good", "good"),
        "negative_button": _button(words, "bad", "bad"),
    }
    return {"type": "context_actions", "elements": [element]}


def _answer(act: str, post: Post) -> dict[str, Any]:
    action = {"type": "button", "action_id": APPROVAL_ACTIONS[act]}
    if act in _STYLES:
        action["style"] = _STYLES[act]
    return action | _button(post.words, act, f"{act}:{post.approval}")


def _offered(action: str, answer: str) -> dict[str, Any]:
    text = {"type": "plain_text", "text": answer, "emoji": False}
    return {"type": "button", "action_id": action, "text": text, "value": action, "accessibility_label": answer}


def _listed(post: Post) -> str:
    """Return the offered answers as a list, for clients without buttons."""
    listed = "".join(f"\n- {answer}" for answer in post.answers)
    return f"\n{listed}" if listed else ""


def _button(words: Words, key: str, value: str) -> dict[str, Any]:
    text, label = words.say(key), words.say(f"{key}_label")
    return {"text": {"type": "plain_text", "text": text}, "value": value, "accessibility_label": label}
