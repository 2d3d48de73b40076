"""Sessions of Claude Code: the intake of their hooks, and the texts and answers that they get."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from daemon.core.contexts import ContextState
from daemon.core.notes import NoteState
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.channel import Room
from daemon.core.ports.services import Clock, Emit, GateDecision
from daemon.core.questions import MOST_SAID_HOURLY, clean_answer
from daemon.core.sessions import (
    THE_ADMIN,
    CodeSession,
    Handed,
    HookEvent,
    KeyOwner,
    NoSuchNote,
    NotBound,
    NoteSettled,
    NotTheirSession,
    SaidTooMuch,
    SessionReads,
    SessionWords,
    Visibility,
)
from daemon.memory.shared.keys import Keys, StoredKey
from daemon.memory.shared.questions import QuestionStore
from daemon.memory.shared.session_words import MOST_KEPT_DAILY
from daemon.memory.shared.sessions import SessionStore
from daemon.memory.shared.thread_bindings import SaidInThread, ThreadBindings, new_call, said_by
from daemon.shared.asking import Companions, as_found, handed
from daemon.shared.news import StoreNews
from daemon.shared.session_context import Surroundings, joined, said_at_start, said_of_full, said_of_siblings
from daemon.shared.who_works import is_of
from daemon.soul import Soul

_PID: Final = re.compile(r"/0*([1-9][0-9]{0,9})/[^/]*\Z")  # in `host/boot/namespace/pid/start`
_SAID_EVERY_S: Final = 60.0  # between two log lines about a refused key


@dataclass(slots=True)
class _Refused:
    """The monotonic time of the last log line about a refused key, and the refusals since."""

    said: float = float("-inf")
    times: int = 0


@dataclass(eq=False)
class CodeSessions:
    """The sessions of a workspace, for the HTTP API that takes their hooks.

    `standing_of` asks the gate about a user, and `room_of` finds the user's DM. `contexts` returns the shared contexts
    that the soul knows. `talk_of` returns a session's conversation. `questions` are those to sessions, awaited by the
    `news` and by their `companions`. `bindings` are the threads bound to sessions. `wake` makes the souls look again.
    """

    store: SessionStore
    keys: Keys
    clock: Clock
    emit: Emit
    standing_of: Callable[[str], Awaitable[GateDecision]]
    room_of: Callable[[str], Awaitable[Room]]
    contexts: Callable[[], Awaitable[Sequence[ContextState]]]
    soul: Callable[[], Soul]
    talk_of: Callable[[KeyOwner, str], ConversationKey]
    questions: QuestionStore
    bindings: ThreadBindings
    companions: Companions
    news: StoreNews
    wake: Callable[[], None]
    _rooms: dict[str, Audience] = field(default_factory=dict)
    _refused: dict[str, _Refused] = field(default_factory=dict)

    async def owner(self, key: str) -> KeyOwner | None:
        """Return the owner of a key. None if it is invalid or revoked, or its owner is not admitted any more.

        Raises StoreError, and NotDelivered while Slack can't say who the person is.
        """
        found = await self.keys.find(key)
        return None if found is None else await self._owner_of(found)

    async def still(self, owner: KeyOwner) -> KeyOwner | None:
        """Return the owner as of now. None once the key is revoked, or the gate does not admit its owner any more.

        Raises StoreError, and NotDelivered while Slack can't say who the person is.
        """
        if not owner.key:
            return owner
        found = await self.keys.still(owner.key)
        return None if found is None else await self._owner_of(found)

    async def _owner_of(self, found: StoredKey) -> KeyOwner | None:
        if not found.person:
            return KeyOwner(found.id, visibility=found.visibility, remember=found.remember)
        decision = await self.standing_of(found.person)
        if not decision.admitted:
            self._say_refused(found.id, decision.reason)
            return None
        self._refused.pop(found.id, None)
        return KeyOwner(
            found.id,
            found.person,
            decision.name,
            decision.outsider,
            found.visibility,
            found.remember,
            found.direct,
        )

    async def hear(self, event: HookEvent, owner: KeyOwner) -> SessionReads:
        """Take an event once. Return what its session reads then. If the key has `remember`, what was said is kept.

        Raises NotTheirSession, KeyEnded, TooManySessions, StoreError, and ChannelError where the owner's DM can't be
        found now.
        """
        event = replace(event, said=clean_answer(event.said))
        lost = {one.id: one.reason for one in self._now(await self.store.living()) if not one.living}
        taken = await self.store.take(event, owner, lost, await self._words(event, owner))
        if event.said:
            self.wake()
        if event.ends_turn or event.hook == "SessionStart":  # a companion may wait for it
            self.news.tell()
        if taken.session is None or not taken.new:
            return SessionReads(words=owner.keeps_words)
        if taken.full:
            self.emit("sessions.words_left_out", key_id=owner.key, most=MOST_KEPT_DAILY)
        note, full = handed(taken.note) if taken.note else None, said_of_full(MOST_KEPT_DAILY) if taken.full else ""
        if event.hook != "SessionStart" or not event.at_once or not taken.session.living:
            met = "" if owner.outsider else said_of_siblings(taken.session, taken.met)
            return SessionReads(joined(full, met), note, owner.keeps_words)
        begun = said_at_start(await self._surroundings(taken.session, owner))
        return SessionReads(joined(full, begun), note, owner.keeps_words)

    async def _words(self, event: HookEvent, owner: KeyOwner) -> SessionWords | None:
        """Return the words of an event to keep. An answer is kept where it was asked for. Raises ChannelError."""
        text = clean_answer(event.words) if owner.keeps_words and not event.said else ""
        if not text:
            return None
        return SessionWords(self.talk_of(owner, event.session), await self.audience(owner), text)

    async def notes(self, owner: KeyOwner, session: str, seconds: float) -> list[Handed]:
        """Return the unanswered notes to an owner's session, which count as read then.

        Waits up to `seconds` for an unread note. Raises NotTheirSession, StoreError, and KeyEnded once its key is
        ended.
        """
        await self._require_own(owner, session)
        until = self.clock.monotonic() + seconds
        while True:
            since = self.news.count
            await self.store.require_key(owner)
            found = await self.questions.readable(session)
            if any(one.state is NoteState.WAITING for one in found):
                return [handed(one) for one in await self.questions.fetch(session)]
            if self.clock.monotonic() >= until:
                return [handed(one) for one in found]
            await self.news.heard(since)

    async def answer(self, owner: KeyOwner, session: str, note: str, words: str) -> None:
        """Answer a note to an owner's session. Raises NotTheirSession, NoSuchNote, NoteSettled and StoreError."""
        await self._require_own(owner, session)
        if not (said := clean_answer(words)):
            raise NoteSettled("the answer holds no words", hint="say it in plain text")
        was = await self.questions.answer(session, note, said)
        if was is None:
            raise NoSuchNote("there is no such note to this session", hint="list them with the tool notes")
        if was not in (NoteState.WAITING, NoteState.DELIVERED):
            raise NoteSettled(f"the note is {was} already", hint="nothing to do: nothing more is said of it")
        self.wake()

    async def _require_own(self, owner: KeyOwner, session: str) -> CodeSession:
        """Return the session. Raises NotTheirSession for one that didn't come with the owner's key, and StoreError."""
        found = await self.store.one(session)
        if found is None or (found.person, found.key) != (owner.person, owner.key):
            raise NotTheirSession("there is no such session", hint="use the key with which it began")
        return found

    async def audience(self, owner: KeyOwner) -> Audience:
        """Return the audience of what an owner's sessions say: a user's DM, or the admin. Raises ChannelError."""
        if not owner.person:
            return Audience(AudienceKind.OPERATOR, "")
        if owner.person not in self._rooms:
            self._rooms[owner.person] = (await self.room_of(owner.person)).audience
        return self._rooms[owner.person]

    async def at_work(self, owner: KeyOwner, who: str) -> list[dict[str, object]]:
        """Return the work of living sessions that an owner may know. `who` is a person or a session, '' for all.

        An outsider's key sees only its own sessions. Raises StoreError.
        """
        living = [one for one in self._now(await self.store.living()) if one.living]
        shown = [one for one in living if owner == THE_ADMIN or _may_see(owner, one)]
        return [_at_work(one) for one in shown if not who or is_of(one, who)]

    async def list(self, owner: KeyOwner) -> list[dict[str, object]]:
        """Return a user's sessions, or all for the admin's token, as JSON: MOST_LISTED, living ones first.

        Raises StoreError.
        """
        found = self._now(await self.store.newest(None if owner == THE_ADMIN else owner.person))
        waiting, bound = await self.store.waiting(), await self.bindings.by_session()
        ordered = sorted(found, key=lambda one: not one.living)
        return [shown(one, waiting.get(one.id, 0), bound.get(one.id)) for one in ordered]

    async def say_in_thread(self, owner: KeyOwner, session: str, words: str, call: str) -> None:
        """Post a session's words in the thread bound to it, in its name.

        `call` is the session's own id for the post, which makes it happen once; '' for none. Raises NotTheirSession,
        NotBound, SaidTooMuch, NoteSettled for empty words, and StoreError.
        """
        found = await self._require_own(owner, session)
        if not (said := clean_answer(words)):
            raise NoteSettled("that holds no words", hint="say it in plain text")
        name = said_by(owner.author, session, call) if call else new_call()
        came = await self.bindings.say(found, said, name)
        if came is SaidInThread.UNBOUND:
            raise NotBound("no thread is bound to this session", hint="its owner says: bind NAME here")
        if came is SaidInThread.OVER:
            raise SaidTooMuch(f"{MOST_SAID_HOURLY} times an hour are the most of one key", hint="try again later")
        self.wake()

    def _now(self, sessions: Sequence[CodeSession]) -> Sequence[CodeSession]:
        now = self.clock.now_ms()
        return [as_found(one, now) for one in sessions]

    def _say_refused(self, key_id: str, reason: str) -> None:
        """Log a refused key at most once a minute, with the refusals since the last line: hooks come at each prompt."""
        refused, now = self._refused.setdefault(key_id, _Refused()), self.clock.monotonic()
        refused.times += 1
        if now - refused.said < _SAID_EVERY_S:
            return
        self.emit("sessions.key_refused", key_id=key_id, reason=reason, times=refused.times)
        refused.said, refused.times = now, 0

    async def _surroundings(self, session: CodeSession, owner: KeyOwner) -> Surroundings:
        soul = self.soul()
        living = self._now(await self.store.living())
        others = [one for one in living if one.living and one != session]
        return Surroundings(
            session,
            soul.display_name,
            soul.personality,
            contexts=() if owner.outsider else tuple(await self.contexts()),
            siblings=() if owner.outsider else tuple(one for one in others if _beside(session, one)),
            waiting=tuple(one for one in others if one.person == session.person and one.state == "waits"),
            now_ms=self.clock.now_ms(),
        )


def _beside(session: CodeSession, other: CodeSession) -> bool:
    place = session.host, session.root, session.branch
    return all(place[:2]) and place == (other.host, other.root, other.branch) and other.shown_to(session.person)


def _may_see(owner: KeyOwner, session: CodeSession) -> bool:
    return session.person == owner.person or (not owner.outsider and session.shown_to(owner.person))


def _at_work(session: CodeSession) -> dict[str, object]:
    """Return what other users may know of a session: never a path, prompt or word."""
    return {
        "name": session.name,
        "person": session.person or None,
        "person_name": session.person_name or None,
        "project": session.project,
        "branch": session.branch or None,
        "state": str(session.state),
        "topic": session.topic or None if session.visibility is Visibility.TOPIC else None,
        "seen_ms": session.seen_ms,
    }


def shown(session: CodeSession, waiting: int, bound: str | None) -> dict[str, object]:
    """Return a session as its owner and the admin see it.

    `waiting` is the number of its open questions, `bound` its conversation.
    """
    identity = _pid(session.process)
    return {
        "id": session.id,
        "name": session.name,
        "person": session.person or None,
        "project": session.project,
        "branch": session.branch or None,
        "cwd": session.cwd,
        "host": session.host or None,
        "pid": identity,
        "model": session.model or None,
        "source": session.source or None,
        "permission_mode": session.permission_mode or None,
        "attended": session.attended,
        "state": str(session.state),
        "reach": str(session.reach),
        "topic": session.topic or None,
        "bound": bound,
        "waiting": waiting,
        "started_ms": session.started_ms,
        "seen_ms": session.seen_ms,
        "ended_ms": session.ended_ms,
        "reason": session.reason or None,
    }


def _pid(process: str) -> int | None:
    found = _PID.search(process)
    return int(found[1]) if found else None
