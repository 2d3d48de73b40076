"""Answers to phrases in the daemon's own words: handlers with their guards, and the one way to commit an answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import field
from msgspec.structs import replace

from daemon.core.perception import Audience, ConversationKey, Place, Readers
from daemon.core.phrases import AS_MESSAGE, Command, Phrase
from daemon.core.sessions import key_of
from daemon.core.text import KnownHosts
from daemon.core.value import Value
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.memory_acts import MemoryAct, SaidInPrivate
from daemon.memory.queues.typed_commands import TYPED
from daemon.memory.records import Delivery, Turn
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.sensing import tell_others


class DaemonAnswer(Value):
    """An answer in the conversation, empty for none, with the acts and turns that are stored with it.

    `more` are further fields of the commit's effect. `here`: the readers of the conversation must not have changed.
    `after` runs once it is committed.
    """

    text: str = ""
    acts: tuple[MemoryAct, ...] = ()
    turns: tuple[Turn, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    here: bool = True
    after: Callable[[], Awaitable[None]] | None = None


class Dm(Value):
    """The DM of a person, or the conversation itself (`here`) if that person alone reads it."""

    where: ConversationKey
    audience: Audience
    here: bool = False

    def split(self, cycle: Cycle, text: str, hosts: KnownHosts | None = None) -> tuple[str, ...]:
        return cycle.services.channels.of(self.where).split(text, self.where, hosts or cycle.hosts)

    def said(self, cycle: Cycle, text: str) -> SaidInPrivate:
        return SaidInPrivate(self.where.channel, self.audience, self.split(cycle, text))

    async def readers(self, cycle: Cycle) -> Readers:
        if self.here:
            return cycle.readers
        there = replace(cycle.newest, conversation=self.where, audience=self.audience, place=Place.DM)
        return await cycle.services.channels.of(self.where).readers(there)


async def dm_of(cycle: Cycle, person: str) -> Dm:
    """Return the DM of a person with the soul. Raises ChannelError."""
    found, key = await cycle.services.capabilities.find_room(person), cycle.claim.conversation
    return Dm(ConversationKey(key.soul, key.workspace, found.channel), found.audience)


async def commit_answer(cycle: Cycle, answer: DaemonAnswer) -> Delivery | None:
    """Commit an answer, and return its first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged if the readers changed or an act has to be made again.
    """
    parts = tuple[str, ...]()
    if answer.text:
        parts = await asyncio.to_thread(cycle.channel.split, answer.text, cycle.claim.conversation, cycle.hosts)
    if answer.here:
        await cycle.require_same_readers()
    effect = effect_of_words(cycle, parts, answer.turns)
    rooms = cycle.readers.rooms if answer.here else frozenset()
    effect = replace(effect, **{"rooms": rooms, "acts": (*effect.acts, *answer.acts), **answer.more})
    delivery = await _commit_shown(cycle, effect)
    tell_others(cycle, effect)
    if answer.after is not None:
        await answer.after()
    return delivery


async def _commit_shown(cycle: Cycle, effect: CycleEffect) -> Delivery | None:
    """Commit. A slash command's answer is then shown where it was typed, as an ephemeral message in place of a post.

    It is posted as usual where the command is unknown here, and where buttons follow the answer.
    """
    services, command = cycle.services, str(cycle.newest.params.get(TYPED, "")) if cycle.messages else ""
    if not command or not services.channels.main.waits_for(command):
        return await services.store.commits.commit(effect)
    shown, stored = effect.parts, replace(effect, parts=())
    if effect.approval is not None:
        shown, stored = (cycle.words.say("own_in_private"),), effect
    delivery = await services.store.commits.commit(stored)
    if shown and not await services.channels.main.answer_command(command, shown):
        services.emit("commands.unanswered", trace=cycle.trace_id)
    return delivery


Handler = Callable[[Cycle, Phrase], Awaitable[DaemonAnswer | str]]
Guard = Callable[[Cycle], bool]


class Obeyed(Value):
    """The handler of some commands. `needs` has the sentence for each guard that must hold.

    `names_sessions`: the answer names sessions, or says that there are some, and waits until its readers are known.
    """

    commands: tuple[Command, ...]
    handler: Handler
    needs: Mapping[Guard, str]
    names_sessions: bool

    async def obey(self, cycle: Cycle, phrase: Phrase) -> Delivery | None:
        """Answer a phrase and commit. Return the first post, claimed for sending.

        Raises StoreError, and what a commit raises. Raises ChannelError when the person's DM can't be found now, and
        ReadersUnknown while it is unknown who would read sessions' names.
        """
        if self.names_sessions:
            cycle.require_known_readers()
        answer = await self._answer(cycle, phrase)
        delivery = await commit_answer(cycle, DaemonAnswer(answer) if isinstance(answer, str) else answer)
        cycle.services.emit("phrase.obeyed", command=phrase.command, trace=cycle.trace_id)
        return delivery

    async def _answer(self, cycle: Cycle, phrase: Phrase) -> DaemonAnswer | str:
        if TYPED in cycle.newest.params and phrase.command in AS_MESSAGE:
            return cycle.words.say("command_as_message")
        for guard, sentence in self.needs.items():
            if not guard(cycle):
                return cycle.words.say(sentence)
        return await self.handler(cycle, phrase)


def phrase(
    *commands: Command, needs: Mapping[Guard, str] | None = None, names_sessions: bool = False
) -> Callable[[Handler], Obeyed]:
    """Declare the commands that a function answers, and the guards of it."""
    return lambda handler: Obeyed(commands, handler, needs or {}, names_sessions)


_CHANNELS: Final = (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL)


def by_person(cycle: Cycle) -> bool:
    """Return whether a person wrote. A session is none: nothing is known of it, or forgotten for it."""
    return key_of(cycle.newest.author) is None


def in_slack(cycle: Cycle) -> bool:
    return cycle.newest.place is not Place.TERMINAL and by_person(cycle)


def not_in_terminal(cycle: Cycle) -> bool:
    return cycle.newest.place is not Place.TERMINAL


def in_dm(cycle: Cycle) -> bool:
    return cycle.newest.place is Place.DM


def in_channel(cycle: Cycle) -> bool:
    return cycle.newest.place in _CHANNELS


def before_members(cycle: Cycle) -> bool:
    return cycle.readers.members_only
