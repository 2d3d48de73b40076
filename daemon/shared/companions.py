"""The companions of sessions: each waits for what its session is to be woken with, and its end is the session's."""

from collections.abc import Callable

from daemon.core.notes import NoteState
from daemon.core.ports.clock import Clock
from daemon.core.sessions import Attended, CodeSession, Handed, KeyOwner, SessionState
from daemon.memory.shared.companions import CompanionStore
from daemon.memory.shared.questions import QuestionStore
from daemon.shared.asking import handed
from daemon.shared.news import StoreNews


class Companions:
    """The companions that wait at this daemon. `wake` has the souls look at what became of their questions."""

    def __init__(
        self,
        store: CompanionStore,
        questions: QuestionStore,
        news: StoreNews,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._questions = questions
        self._news = news
        self._clock = clock
        self._wake = wake

    async def wait(self, owner: KeyOwner, process: str, known: str, *, wakes: bool, seconds: float) -> Attended:
        """The session that runs in a process, and the question with which its companion is to wake it now, if any.

        Waits for so long for one, or for another session than the companion knows of. Raises StoreError, and KeyEnded
        once the owner's key is ended.
        """
        until = self._clock.monotonic() + seconds
        while True:
            since = self._news.count
            session = await self._store.attach(process, owner, wakes=wakes, now=self._clock.now_ms())
            note = await self._offer(session) if session and wakes else None
            if note is not None or (session and session.id != known) or self._clock.monotonic() >= until:
                return Attended(session.id if session else "", note)
            await self._news.heard(since)

    async def left(self, owner: KeyOwner, process: str) -> None:
        """A companion has come no more: its session has ended. Raises StoreError."""
        if await self._store.leave(process, owner, now=self._clock.now_ms()):
            self._wake()

    async def _offer(self, session: CodeSession) -> Handed | None:
        """The next question for a session that rests; reads first, since most of the time there is none."""
        if session.state is not SessionState.IDLE:
            return None
        if not any(one.state is NoteState.WAITING for one in await self._questions.readable(session.id)):
            return None
        found = await self._store.offer(session, self._clock.now_ms())
        return handed(found) if found else None
