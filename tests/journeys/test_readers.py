"""Who reads a reply decides what may be in it: one table of rooms, and a word that only full members may know."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from daemon.channels.slack.access import readers
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey, Readers
from daemon.memory.admin.remembered import readers_at
from daemon.memory.database import Transaction, open_database
from daemon.memory.retrieval.surfacing import Surfacing
from tests.given import shown, wanting
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, script, solver
from tests.unit.ism_parts import chosen

CANARY = "heliotrope"
LOOKS_UP = chosen(("Research", "kiln cracks"), "Respond")
MISSING_SCOPE = {"ok": False, "error": "missing_scope", "needed": "channels:read"}


@dataclass(frozen=True)
class Question:
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
        channel = await house.people.open_dm(self.asker) if self.room == "dm" else self.room
        before = len(await house.replies(channel))
        await house.say(self.asker, self.room, f"@soul {PROBLEM}", thread=self.thread)
        await house.reply(channel, count=before + 1)
        await house.idle()
        sent = [str(call["args"]) for call in (await house.people.calls())[calls:]]
        return "\n".join([*map(shown, house.prompts[prompts:]), *sent])


async def _members_only(house: House) -> Question:
    await house.people.add_channel("studio", members=["Ada", "Ben"])
    return Question(house)


async def _guest_in_public_channel(house: House) -> Question:
    await house.people.add_channel("studio", members=["Ada", "Gus"])
    return Question(house)


async def _guest_in_private_channel(house: House) -> Question:
    await house.people.add_channel("studio", kind="group", members=["Ada", "Gus"])
    return Question(house)


async def _guest_in_group_dm(house: House) -> Question:
    room = await house.people.add_channel("", kind="mpim", members=["Ada", "Gus"])
    return Question(house, str(room["id"]))


async def _guest_joins_mid_thread(house: House) -> Question:
    question = await _members_only(house)
    root = await house.say("Ada", "studio", "@soul hello")
    await house.reply("studio")
    await house.idle()
    await house.people.join("Gus", "studio")
    await house.acknowledged()
    return Question(house, question.room, thread=root)


async def _guest_has_left(house: House) -> Question:
    question = await _guest_in_public_channel(house)
    await house.answered("Ada", "studio", "@soul hello")
    await house.people.leave("Gus", "studio")
    await house.acknowledged()
    return question


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


async def _member_becomes_guest(house: House) -> Question:
    question = await _members_only(house)
    await house.answered("Ada", "studio", "@soul hello")
    await house.people.change_standing("Ben", "guest")
    await house.acknowledged()
    return question


async def _channel_becomes_shared(house: House) -> Question:
    question = await _members_only(house)
    await house.answered("Ada", "studio", "@soul hello")
    await house.people.share("studio")
    await house.acknowledged()
    return question


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


async def _foreign_bot(house: House) -> Question:
    return await _bot(house, "T0ELSEWHERE")


async def _own_bot(house: House) -> Question:
    return await _bot(house, "")


async def _no_scope(house: House) -> Question:
    question = await _members_only(house)
    await house.people.fault("conversations.members", body=MISSING_SCOPE, times=9)
    return question


async def _no_scope_but_a_pair(house: House) -> Question:
    await house.people.add_channel("studio", members=["Ada"])
    await house.people.fault("conversations.members", body=MISSING_SCOPE, times=9)
    return Question(house)


async def _members_out_of_reach(house: House) -> Question:
    question = await _members_only(house)
    await house.people.fault("conversations.members", status=500, times=9)
    return question


async def _dm(house: House) -> Question:
    return Question(house, "dm", "Ben")


async def _dm_of_a_guest(house: House) -> Question:
    return Question(house, "dm", "Gus")


async def _made_private(house: House) -> Question:
    """Full members of a channel that became private may still know what the workspace knows."""
    question = await _members_only(house)
    await house.answered("Ada", "studio", "@soul hello")
    await house.people.convert("Ada", "studio", "group")
    await house.acknowledged()
    return question


@dataclass(frozen=True)
class Case:
    """How a room comes about, and whether all its readers are full members."""

    arrange: Callable[[House], Awaitable[Question]]
    known: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


EVERYDAY = (
    Case(_members_only, known=True),
    Case(_guest_in_public_channel),
    Case(_refused_guest_spoke_and_left),
    Case(_channel_becomes_shared, settings={"allow_shared_channels": True}),
    Case(_no_scope),
    Case(_dm_of_a_guest, settings={"allow_guests": True}),
    Case(_made_private, known=True),
)
FURTHER = (
    Case(_guest_in_private_channel),
    Case(_guest_in_group_dm),
    Case(_guest_joins_mid_thread),
    Case(_guest_has_left, known=True),
    Case(_thread_of_a_guest_who_left),
    Case(_member_becomes_guest),
    Case(_unknown_user),
    Case(_foreign_bot),
    Case(_own_bot, known=True),
    Case(_no_scope_but_a_pair, known=True),
    Case(_members_out_of_reach),
    Case(_dm, known=True),
)


async def _secret(house: House, **settings: Any) -> None:  # noqa: ANN401  # any setting
    """Ada says the word in a public channel that no guest is in."""
    await solver(house, **settings)
    await house.people.add_channel("kilns", members=["Ada"])
    await house.answered("Ada", "kilns", f"@soul the kiln cracks because of the {CANARY} glaze")


@pytest.mark.parametrize(
    "case",
    [*EVERYDAY, *(pytest.param(case, marks=pytest.mark.slow) for case in FURTHER)],
    ids=lambda case: case.arrange.__name__.strip("_"),
)
async def test_only_where_every_reader_is_a_full_member_is_told_what_the_workspace_knows(
    empty_house: House, case: Case
) -> None:
    house = empty_house
    await _secret(house, **case.settings)
    question = await case.arrange(house)
    assert not await _command_knows(question) or case.known, "nobody has asked the platform yet"
    assert (CANARY in await question.prompts_and_posts()) is case.known
    assert await _command_knows(question) is case.known


async def test_a_guest_who_joins_is_known_to_the_commands_before_the_next_reply(empty_house: House) -> None:
    house = empty_house
    await _secret(house)
    question = await _members_only(house)
    await question.prompts_and_posts()
    assert await _command_knows(question)
    await house.people.join("Gus", "studio")
    await house.acknowledged()
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
