"""The arm of sessions: what is said in a person's session of Claude Code is for their direct messages alone."""

from daemon.core.perception import AudienceKind
from daemon.core.sessions import HookEvent, KeyOwner, SessionWords, talk_of
from daemon.memory.shared.session_words import keep_said
from tests.leaks.arms import NOTHING, SOUL, Arm, SaidThere
from tests.leaks.ground import Remark, dm_of
from tests.leaks.slack import TEAM

_HOOKS = ("UserPromptSubmit", "Stop", "PostCompact")


class SessionsSaid(Arm):
    """What would be said in a DM is said in a session of that person instead; in other rooms people say it."""

    def says(self, remark: Remark) -> str:
        """In a DM nothing: what comes back of it came from the session."""
        return NOTHING if remark.room == dm_of(remark.person) else remark.text

    async def keep(self, said: SaidThere) -> None:
        """Let the session of a person say it, as one of its hooks tells."""
        if said.readers.audience.kind is not AudienceKind.DM:
            return
        number, now = said.remark.number, self.home.clock.now_ms()
        owner = KeyOwner(f"key{said.person}", said.person, said.remark.person, remember=True)
        event = HookEvent(f"e{number}", f"s{number % 3}", _HOOKS[number % len(_HOOKS)], now, 0, now)
        where = talk_of(SOUL, TEAM, owner, event.session)
        words = SessionWords(where, said.readers.audience, said.remark.text)
        await self.home.database.write(lambda unit: keep_said(unit, owner, event, words))
