"""The chunks of a stream: what of them is words, and the plan that its task updates add up to (Slack: chunks)."""

from typing import Final

from daemon.local_slack.model import Json

_KINDS: Final = frozenset({"markdown_text", "task_update", "plan_update", "blocks"})
_STATUSES: Final = frozenset({"pending", "in_progress", "complete", "error"})
_OPEN: Final = frozenset({"pending", "in_progress"})
_GROWING: Final = ("details", "output")


def valid(chunk: Json) -> bool:
    """Whether Slack would take a chunk."""
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


def words(chunks: tuple[Json, ...]) -> str:
    """The text that some chunks add."""
    return "".join(str(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")


def folded(shown: tuple[Json, ...], more: tuple[Json, ...]) -> tuple[Json, ...]:
    """What is shown beside the words once more chunks have come.

    A plan has one title, a task one card: title and status are replaced, details and output grow.
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
    """What a finished message shows: work that was still going on looks like a failure."""
    return tuple(chunk | {"status": "error"} if chunk.get("status") in _OPEN else chunk for chunk in shown)


def _key(chunk: Json) -> tuple[str, str] | None:
    match chunk["type"]:
        case "plan_update":
            return ("plan", "")
        case "task_update":
            return ("task", chunk["id"])
    return None
