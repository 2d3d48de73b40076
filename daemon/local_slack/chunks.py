"""The chunks of a stream: their text, and the plan that their task updates add up to (Slack: chunks)."""

from typing import Final

from daemon.local_slack.model import Json

_KINDS: Final = frozenset({"markdown_text", "task_update", "plan_update", "blocks"})
_STATUSES: Final = frozenset({"pending", "in_progress", "complete", "error"})
_OPEN: Final = frozenset({"pending", "in_progress"})
_GROWING: Final = ("details", "output")


def valid(chunk: Json) -> bool:
    """Whether Slack accepts a chunk."""
    match chunk.get("type"):
        case "markdown_text":
            return isinstance(chunk.get("text"), str)
        case "plan_update":
            return isinstance(chunk.get("title"), str)
        case "task_update":
            named = all(isinstance(chunk.get(name), str) and chunk[name] for name in ("id", "title"))
            grown = all(isinstance(chunk.get(name, ""), str) for name in _GROWING)
            return named and grown and chunk.get("status") in _STATUSES
    return chunk.get("type") in _KINDS


def text_of(chunks: tuple[Json, ...]) -> str:
    """The text that the chunks add to the message."""
    return "".join(str(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")


def folded(shown: tuple[Json, ...], more: tuple[Json, ...]) -> tuple[Json, ...]:
    """The chunks a message shows besides its text, after `more` are added to `shown`.

    A plan has one title and a task has one card: title and status are replaced, details and output grow.
    """
    result = list(shown)
    for chunk in more:
        if chunk["type"] == "markdown_text":
            continue
        key = _key(chunk)
        place = next((at for at, one in enumerate(result) if key and _key(one) == key), None)
        if place is None:
            result.append(chunk)
            continue
        before = result[place]
        grown = {
            name: before.get(name, "") + chunk.get(name, "") for name in _GROWING if name in before or name in chunk
        }
        result[place] = before | chunk | grown
    return tuple(result)


def stopped(shown: tuple[Json, ...]) -> tuple[Json, ...]:
    """The chunks of a finished message: a task that is still open becomes an error."""
    return tuple(chunk | {"status": "error"} if chunk.get("status") in _OPEN else chunk for chunk in shown)


def _key(chunk: Json) -> tuple[str, str] | None:
    match chunk["type"]:
        case "plan_update":
            return ("plan", "")
        case "task_update":
            return ("task", chunk["id"])
    return None
