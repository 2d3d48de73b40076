"""Who reads a reply decides what may be in it: one table of rooms, and a word that only full members may know."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import field
from msgspec.structs import replace

from daemon.channels.slack import readers
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.admin.remembered import readers_at
from daemon.memory.database import Transaction, open_database
from daemon.memory.retrieval.surfacing import Surfacing
from tests.given import shown, wanting
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, script, solver
from tests.unit.ism_parts import chosen
from tests.workspace_client import WorkspaceClient

CANARY = "heliotrope"
LOOKS_UP = chosen(("Research", "kiln cracks"), "Respond")
SHARED = {"allow_shared_channels": True}
MISSING_SCOPE = {"ok": False, "error": "missing_scope", "needed": "channels:read"}


class Question(Value):
    """A room in which a question is asked: the house, the room, and the thread that is gone on with."""

    house: House
    room: str = "studio"
    asker: str = "Ada"
    thread: str = ""

    async def prompts_and_posts(self) -> str:
        """Ask for help with a problem and look things up; gives all that the model read and Slack was sent for it."""
        house = self.house
        prompts, calls = len(house.prompts), len(await house.people.calls())
        script(house, LOOKS_UP, enters=not self.thread, external_dialog=f"The kiln: [1] {PROBLEM}")
        if self.thread:
            house.model.steps["respond"].append(wanting("research"))
        await house.answered(self.asker, self.room, f"@soul {PROBLEM}", thread=self.thread)
        sent = [str(call["args"]) for call in (await house.people.calls())[calls:]]
        return "\n".join([*map(shown, house.prompts[prompts:]), *sent])


async def _studio(house: House, *members: str, kind: str = "channel") -> Question:
    await house.people.add_channel("studio", kind=kind, members=members)
    return Question(house)


async def _members_only(house: House) -> Question:
    return await _studio(house, "Ada", "Ben")


async def _guest_in_group_dm(house: House) -> Question:
    room = await house.people.add_channel("", kind="mpim", members=["Ada", "Gus"])
    return Question(house, str(room["id"]))


async def _changes(house: House, act: Callable[[WorkspaceClient], Awaitable[object]], member: str = "Ben") -> Question:
    """The soul has answered in the studio before something changes there."""
    question = await _studio(house, "Ada", member)
    await house.answered("Ada", "studio", "@soul hello")
    await act(house.people)
    await house.acknowledged()
    return question


async def _guest_joins_mid_thread(house: House) -> Question:
    question = await _members_only(house)
    root = await house.heard("Ada", "studio", "@soul hello")
    await house.people.join("Gus", "studio")
    await house.acknowledged()
    return Question(house, question.room, thread=root)


async def _thread_of_a_guest_who_left(house: House) -> Question:
    await house.people.add_channel("studio", members=["Ada", "Gus"])
    root = await house.say("Gus", "studio", "our kiln is broken")
    await house.people.leave("Gus", "studio")
    await house.acknowledged()
    return Question(house, thread=root)


async def _refused_guest_spoke_and_left(house: House) -> Question:
    await house.people.add_channel("studio", members=["Ada", "Gus"])
    root = await house.say("Gus", "studio", "@soul our kiln is broken")
    assert await house.final_state(root) == "ignored"
    await house.people.leave("Gus", "studio")
    await house.acknowledged()
    await house.idle()
    await house.restart(name="tess")
    return Question(house, thread=root)


async def _unknown_user(house: House) -> Question:
    question = await _members_only(house)
    rooms = house.workspace.workspace.state.channels
    rooms["C0STUDIO"] = replace(rooms["C0STUDIO"], members=(*rooms["C0STUDIO"].members, "U0GHOST"))
    return question


async def _bot(house: House, team: str) -> Question:
    question = await _members_only(house)
    await house.people.add_person("Beep", standing="bot", team=team)
    await house.people.join("Beep", "studio")
    await house.acknowledged()
    return question


async def _no_scope(house: House) -> Question:
    question = await _members_only(house)
    await house.people.fault("conversations.members", body=MISSING_SCOPE, times=9)
    return question


async def _no_scope_but_a_pair(house: House) -> Question:
    question = await _studio(house, "Ada")
    await house.people.fault("conversations.members", body=MISSING_SCOPE, times=9)
    return question


async def _members_out_of_reach(house: House) -> Question:
    question = await _members_only(house)
    await house.people.fault("conversations.members", status=500, times=9)
    return question


class Case(Value):
    """How a room comes about, and whether all its readers are full members."""

    name: str
    arrange: Callable[[House], Awaitable[Question]]
    known: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


async def _direct(house: House, person: str) -> Question:
    return Question(house, "dm", person)


EVERYDAY = (
    Case("members only", _members_only, known=True),
    Case("guest in public channel", lambda house: _studio(house, "Ada", "Gus")),
    Case("refused guest spoke and left", _refused_guest_spoke_and_left),
    Case("becomes shared", lambda house: _changes(house, lambda at: at.share("studio")), settings=SHARED),
    Case("no scope", _no_scope),
    Case("direct messages of a guest", lambda house: _direct(house, "Gus"), settings={"allow_guests": True}),
    Case("made private", lambda house: _changes(house, lambda at: at.convert("Ada", "studio", "group")), known=True),
)
FURTHER = (
    Case("guest in private channel", lambda house: _studio(house, "Ada", "Gus", kind="group")),
    Case("guest in group message", _guest_in_group_dm),
    Case("guest joins mid thread", _guest_joins_mid_thread),
    Case("guest has left", lambda house: _changes(house, lambda at: at.leave("Gus", "studio"), "Gus"), known=True),
    Case("thread of a guest who left", _thread_of_a_guest_who_left),
    Case("member becomes guest", lambda house: _changes(house, lambda at: at.change_standing("Ben", "guest"))),
    Case("unknown user", _unknown_user),
    Case("foreign bot", lambda house: _bot(house, "T0ELSEWHERE")),
    Case("own bot", lambda house: _bot(house, ""), known=True),
    Case("no scope but a pair", _no_scope_but_a_pair, known=True),
    Case("members out of reach", _members_out_of_reach),
    Case("direct messages", lambda house: _direct(house, "Ben"), known=True),
)


async def _secret(house: House, **settings: Any) -> None:  # noqa: ANN401  # any setting
    """Ada says the word in a public channel that no guest is in."""
    await solver(house, **settings)
    await house.people.add_channel("kilns", members=["Ada"])
    await house.answered("Ada", "kilns", f"@soul the kiln cracks because of the {CANARY} glaze")


@pytest.mark.parametrize(
    "case",
    [*EVERYDAY, *(pytest.param(case, marks=pytest.mark.slow) for case in FURTHER)],
    ids=lambda case: case.name,
)
async def test_only_before_full_members_is_told_what_the_workspace_knows(empty_house: House, case: Case) -> None:
    await _secret(empty_house, **case.settings)
    question = await case.arrange(empty_house)
    assert not await _command_knows(question) or case.known, "nobody has asked the platform yet"
    assert (CANARY in await question.prompts_and_posts()) is case.known
    assert await _command_knows(question) is case.known


async def test_a_guest_who_joins_is_known_to_the_commands_before_the_next_reply(empty_house: House) -> None:
    await _secret(empty_house)
    question = await _members_only(empty_house)
    await question.prompts_and_posts()
    assert await _command_knows(question)
    await empty_house.people.join("Gus", "studio")
    await empty_house.acknowledged()
    assert not await _command_knows(question)


async def _command_knows(question: Question) -> bool:
    """Whether `soul memory search` and its like would tell the asker there what the workspace knows."""
    house = question.house
    channel = await house.people.open_dm(question.asker) if question.room == "dm" else question.room

    person = await house.person(question.asker)

    async def there(transaction: Transaction) -> tuple[ConversationKey, Readers]:
        (row, *_) = await transaction.rows(
            "SELECT soul, channel FROM conversations WHERE channel IN (:room, 'C0' || upper(:room))", room=channel
        )
        return await readers_at(transaction, row["soul"], person, row["channel"])

    async with open_database(house.settings.database_path, house.clock) as database:
        try:
            where, readers_there = await database.read(there)
        except (StoreError, ValueError):
            return False
        found = await Surfacing(database, house.clock).search(where, readers_there, "why does the kiln crack?", 5)
        return any(CANARY in one.text for one in found)


async def test_in_a_room_with_too_many_members_nothing_of_the_workspace_is_told(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "MOST_MEMBERS", 2)
    await _secret(empty_house)
    question = await _members_only(empty_house)
    assert CANARY not in await question.prompts_and_posts()
    assert not [
        one for one in await empty_house.people.calls("conversations.members") if one["args"]["channel"] == "C0STUDIO"
    ]
