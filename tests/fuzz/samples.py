"""One payload of each kind that Slack sends us, recorded from the local workspace while Ada does what raises it."""

import asyncio
import copy
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.dialogs import ASK, COMPLAINT, CORRECT, ROOM
from daemon.core.phrases import ASK_SHORTCUT, WHY_SHORTCUT
from daemon.local_slack.model import Json
from daemon.local_slack.sockets import Deliveries
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.own_memory import note

Sample = tuple[str, str, Json]
"""The envelope's type, what the payload is, and the payload."""
KINDS: Final = frozenset(
    {
        *("message", "app_mention", "message_changed", "message_deleted", "file_share"),
        *("reaction_added +1", "reaction_removed +1", "reaction_added x", "reaction_removed x"),
        *("app_home_opened", "agent_session_stopped"),
        *("member_joined_channel", "member_left_channel", "channel_rename", "user_change", "subteam_created"),
        *(
            "block_actions soul_feedback",
            "block_actions soul_home",
            "block_actions soul_answer_1",
            "message_action",
            "slash_commands",
        ),
        *(f"view_submission {one}" for one in (COMPLAINT, ASK, CORRECT, ROOM)),
    }
)
"""What is recorded at least."""


class _Recorder:
    """Keeps the first payload of each kind that the workspace sends."""

    def __init__(self, deliveries: Deliveries) -> None:
        self.found: dict[str, Sample] = {}
        self._deliveries, self._attempt = deliveries, deliveries._attempt

    def __enter__(self) -> "_Recorder":
        setattr(self._deliveries, "_attempt", self._keep)  # noqa: B010  # a method of an instance
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self._deliveries, "_attempt", self._attempt)  # noqa: B010  # as above

    def _keep(self, outgoing: Any, *more: Any) -> bool:  # noqa: ANN401  # the workspace's own
        name = kind_of(outgoing.kind, outgoing.payload)
        self.found.setdefault(name, (outgoing.kind, name, copy.deepcopy(outgoing.payload)))
        return self._attempt(outgoing, *more)


def kind_of(envelope: str, payload: Json) -> str:
    """What a payload is: its event's type or subtype, or an interaction and what it is about."""
    event = payload.get("event")
    if isinstance(event, dict):
        return f"{event.get('subtype') or event.get('type')} {event.get('reaction', '')}".strip()
    if envelope == "slash_commands":
        return envelope
    actions, view = payload.get("actions"), payload.get("view") or {}
    about = str(actions[0]["action_id"]).partition(":")[0] if actions else str(view.get("callback_id") or "")
    return f"{payload.get('type')} {about}".strip()


async def recorded(house: House) -> list[Sample]:
    """Have Ada do everything once; gives a payload of each kind."""
    people, workspace = house.people, house.workspace.workspace
    with _Recorder(workspace.deliveries) as kept:
        for room in ("general", "random"):
            await people.join("Soul", room)
        await house.answered("Ada", "dm", "I keep bees on the roof")
        fact = await note(house, "U0ADA", "keeps bees", "keep bees on the roof")
        answer = await house.reply("D0ADA")
        said = await house.say("Ada", "general", "@soul hello")
        await house.reply("C0GENERAL")
        await people.edit("Ada", "general", said, "@soul hello there")
        await people.delete("Ada", "general", (await people.say("Ada", "general", "@soul oh"))["ts"])
        await people.say("Ada", "dm", "look", files=[{"name": "a.txt", "text": "hello"}])
        for remove in (False, True):
            await people.react("Ada", "dm", answer["ts"], "+1", remove=remove)
        await people.open_dm("Ada")
        await people.post("open_home", person="Ada")
        await people.post("group", handle="smiths", members=["Ada"])
        await people.post("rename", channel="random", name="chatter")
        await people.change_standing("Ben", "member")
        for act in (people.join, people.leave):
            await act("Ben", "chatter")
        await house.idle()
        await people.click("Ada", "dm", answer["ts"], "soul_feedback", "bad")
        await _send(house, {COMPLAINT: "Too curt."})
        home = await house.until(lambda: _home(house, fact))
        await people.press_home("Ada", home["blocks"][_buttons(home, fact)]["elements"][0]["action_id"])
        await _send(house, {CORRECT: "keeps wasps"})
        await people.shortcut("Ada", "dm", answer["ts"], WHY_SHORTCUT)
        await people.shortcut("Ada", "general", said, ASK_SHORTCUT)
        await _send(house, {ASK: "Why?"})
        await people.command("Ada", "general", "/minoan", "status")
        await people.command("Ada", "general", "/minoan", "channel")
        await _send(house, {ROOM: "Answer in one line."})
        await _picks_and_takes_back(house)
        await house.idle()
        workspace.stop_session(workspace.state.timeline("C0GENERAL").get(said) or _missing(said), "U0ADA")
        await house.acknowledged()
    await house.idle()
    assert kept.found.keys() >= KINDS, KINDS - kept.found.keys()
    return [kept.found[name] for name in sorted(kept.found)]


async def _picks_and_takes_back(house: House) -> None:
    """Ada answers a question by its button, and has the question taken back."""
    await house.idle()  # what was asked before takes none of the words below
    asking = f"{tagged('Which one is it?')}\n<short_answers>Postgres | SQLite</short_answers>"
    house.model.steps["respond"].append(asking)
    await house.say("Ada", "general", "@soul which database?")
    post = await house.reply("C0GENERAL", "Which one is it?")
    await house.idle()
    await house.people.click("Ada", "general", post["ts"], "soul_answer_1")
    await house.idle()
    for remove in (False, True):
        await house.people.react("Ada", "general", post["ts"], "x", remove=remove)


async def _send(house: House, values: Mapping[str, str]) -> None:
    async def opened() -> Json | None:
        return next(iter(await house.people.modals("Ada")), None)

    view = await house.until(opened)
    await house.people.submit("Ada", view["id"], **values)

    async def closed() -> bool:
        return not await house.people.modals("Ada")

    async with asyncio.timeout(60):
        await house.until(closed)


async def _home(house: House, fact: str) -> Json | None:
    view = (await house.people.get("home", person="Ada"))["view"]
    return view if view and _buttons(view, fact) else None


def _buttons(view: Json, fact: str) -> int:
    """The place of the block with the buttons of a fact; 0 for none."""
    rows = (place for place, block in enumerate(view["blocks"]) if fact in str(block.get("elements")))
    return next(rows, 0)


def _missing(ts: str) -> Any:  # noqa: ANN401  # never returns
    raise AssertionError(f"no message {ts}")
