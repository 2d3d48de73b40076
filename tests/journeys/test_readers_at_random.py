"""Random joins, leavings, conversions and talk: no word reaches a room with a reader who could not have read it."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.local_slack.model import ChannelKind, WorkspaceChannel
from daemon.local_slack.server import serve_workspace
from tests.fakes import TurnableClock
from tests.given import shown
from tests.journeys.house import House, settings_for
from tests.journeys.problems import PROBLEM, script, solver
from tests.unit.ism_parts import chosen
from tests.workspace_client import WorkspaceClient

MEMBERS, GUEST = ("Ada", "Ben", "Chloe"), "Gus"
ROOMS = ("alpha", "beta")
LOOKS_UP = chosen(("Research", "kiln cracks"), "Respond")
ACTS = st.tuples(
    st.sampled_from(["say", "say", "ask", "ask", "join", "leave", "convert"]),
    st.sampled_from([*MEMBERS, GUEST]),
    st.sampled_from([*ROOMS, "dm"]),
)


@dataclass
class Word:
    """A word, and who could ever read it where it was said."""

    word: str
    room: str
    readers: set[str] = field(default_factory=set)


class Town:
    """A house in which people come and go; it knows who can read what, as Slack would show it."""

    def __init__(self, house: House) -> None:
        self.house, self.words = house, list[Word]()
        self.found = 0

    def _room(self, name: str) -> WorkspaceChannel:
        room = self.house.workspace.workspace.state.channel_named(name)
        assert room is not None
        return room

    def readers(self, person: str, name: str) -> set[str]:
        """Who can read in a room now, by name."""
        if name == "dm":
            return {person}
        room, people = self._room(name), self.house.workspace.workspace.state.people
        inside = {people[one].display_name for one in room.members} & {*MEMBERS, GUEST}
        return inside | set(MEMBERS) if room.kind is ChannelKind.PUBLIC else inside

    async def act(self, what: str, person: str, name: str) -> None:
        """Do something, if Slack would let this user do it; then note who may read by now what was said before."""
        people = self.house.people
        if what in ("say", "ask"):
            await self._speak(what, person, name)
        elif name != "dm":
            here = (await self.house.person(person)) in self._room(name).members
            if what == "join" and not here:
                await people.join(person, name)
            elif what == "leave" and here:
                await people.leave(person, name)
            elif what == "convert" and here:
                public = self._room(name).kind is ChannelKind.PUBLIC
                await people.convert(person, name, "group" if public else "channel")
        await self.house.acknowledged()
        for one in self.words:
            if not one.room.startswith("dm"):
                one.readers |= self.readers("", one.room)

    async def _speak(self, what: str, person: str, name: str) -> None:
        if name != "dm" and (await self.house.person(person)) not in self._room(name).members:
            return
        before, word = len(self.house.prompts), f"canary{len(self.words):03d}"
        text = PROBLEM if what == "ask" else f"the kiln cracks, {word}"
        if what == "ask":
            script(self.house, LOOKS_UP, external_dialog="I see.")
        readers = self.readers(person, name)
        await self.house.answered(person, name, f"@soul {text}")
        read = "\n".join(map(shown, self.house.prompts[before:]))
        for one in self.words:
            if one.word in read:
                self.found += 1
                assert readers <= one.readers, f"{one} is known to {readers}"
        if what == "say":
            self.words.append(Word(word, name if name != "dm" else f"dm of {person}", readers))


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(acts=st.lists(ACTS, min_size=6, max_size=14))
async def test_no_word_reaches_a_room_with_a_reader_who_could_not_have_read_it(
    acts: Sequence[tuple[str, str, str]],
) -> None:
    clock = TurnableClock()
    with tempfile.TemporaryDirectory() as folder:
        async with serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
            house = House(workspace, people, clock, settings_for(workspace, Path(folder)))
            try:
                await solver(house, allow_guests=True)
                await people.add_channel("alpha", members=["Ada", "Ben"])
                await people.add_channel("beta", kind="group", members=["Ada", GUEST])
                town = Town(house)
                for act in [("say", "Ada", "alpha"), *acts, ("ask", "Ada", "beta"), ("ask", "Chloe", "dm")]:
                    await town.act(*act)
                print(f"words={len(town.words)} found={town.found} leaks=0")
            finally:
                await house.close()
