"""Where a scene is played: the real Slack or the local workspace, and a record of every call's code and shape."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.core.value import Value

Json = dict[str, Any]
_DEPTH = 4


class RecordedCall(Value):
    """One call: its method, `ok` or Slack's error code, the paths of the answer's fields, and what was noted."""

    method: str
    code: str
    shape: tuple[str, ...] = ()
    notes: Mapping[str, object] = msgspec.field(default_factory=dict)


@dataclass(slots=True)
class LiveStage:
    """A place for scenes: a channel and a DM with the app, an archived channel, one user, two tokens.

    `wait` passes seconds of Slack's time, `throttle` switches rate limits on where they can be switched.
    """

    client: AsyncWebClient
    app_token: str
    channel: str
    archived: str
    dm: str
    user: str
    team: str
    wait: Callable[[float], Awaitable[None]]
    throttle: Callable[[bool], Awaitable[None]]
    calls: list[RecordedCall] = field(default_factory=list)

    async def call(self, method: str, **arguments: object) -> Json:
        """Call a method and record the answer; a refusal is an answer, too."""
        return await self._answered(method, json={n: v for n, v in arguments.items() if v is not None})

    async def read(self, method: str, **arguments: object) -> Json:
        """Like `call`, for methods that take their arguments in the query."""
        params = {name: value for name, value in arguments.items() if value is not None}
        return await self._answered(method, http_verb="GET", params=params)

    async def _answered(self, method: str, **request: Any) -> Json:  # noqa: ANN401  # as the client takes it
        try:
            answer: Json = dict((await self.client.api_call(method, **request)).data)  # type: ignore[arg-type]  # JSON
        except SlackApiError as error:
            answer = dict(error.response.data) if isinstance(error.response.data, dict) else {}
            notes = {"retry_after": "Retry-After" in error.response.headers}
            self.calls.append(RecordedCall(method, str(answer.get("error")), (), notes))
        else:
            self.calls.append(RecordedCall(method, "ok", tuple(sorted(set(_paths(answer))))))
        return answer

    def note(self, **notes: object) -> None:
        """Record an observation."""
        self.calls.append(RecordedCall("", "ok", (), notes))

    async def root(self, text: str = "A scene begins.") -> str:
        """A message of the app in the channel; gives its ts."""
        return str((await self.call("chat.postMessage", channel=self.channel, text=text))["ts"])

    async def stream(self, thread: str, **piece: object) -> str:
        """A stream in a thread of the channel; gives its ts, empty if it was refused."""
        started = await self.call(
            "chat.startStream",
            channel=self.channel,
            thread_ts=thread,
            recipient_team_id=self.team,
            recipient_user_id=self.user,
            **piece,
        )
        return str(started.get("ts") or "")

    async def read_back(self, ts: str, thread: str) -> Json:
        """One message of a thread of the channel as Slack keeps it."""
        found = await self.read("conversations.replies", channel=self.channel, ts=thread, include_all_metadata=1)
        return next((dict(one) for one in found.get("messages", ()) if one["ts"] == ts), {})


def differences(slack: list[RecordedCall], local: list[RecordedCall]) -> list[str]:
    """Where the local workspace says something else than Slack: other codes or notes, or fields that Slack lacks."""
    found = [f"{len(slack)} calls in Slack, {len(local)} here"] if len(slack) != len(local) else []
    for number, (there, here) in enumerate(zip(slack, local, strict=False)):
        where = f"call {number}, {there.method or 'note'}"
        if (there.method, there.code) != (here.method, here.code):
            found.append(f"{where}: {there.code} in Slack, {here.code} here")
        elif dict(there.notes) != dict(here.notes):
            found.append(f"{where}: {dict(there.notes)} in Slack, {dict(here.notes)} here")
        elif missing := sorted(set(here.shape) - set(there.shape)):
            found.append(f"{where}: Slack has no {', '.join(missing)}")
    return found


def _paths(value: object, path: str = "", depth: int = 0) -> Iterator[str]:
    if isinstance(value, dict) and depth < _DEPTH:
        for name, inner in value.items():
            yield from _paths(inner, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and depth < _DEPTH:
        for inner in value:
            yield from _paths(inner, f"{path}[]", depth + 1)
    else:
        yield f"{path}: {type(value).__name__}"
