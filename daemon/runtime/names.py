"""The names of whom and what is talked about: a model reads `@Ben` and `#general` where memory.db holds ids."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from daemon.core.lru import Lru
from daemon.core.names import ids_in, with_names
from daemon.core.ports.channel import Channel
from daemon.core.ports.models import Prompt

_KEPT: Final = 2_000
_ASKED: Final = 10  # ids of one prompt, the newest; each may be one more question to the platform, whoever wrote it


class PromptNames:
    """Names as they were last learned, for all prompts of this daemon."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._names = Lru[str, str](_KEPT)

    async def learn(self, texts: Iterable[str]) -> None:
        """Ask the platform for the names in texts; what it doesn't say in a moment stays as it is known."""
        wanted = ids_in(texts)[-_ASKED:]
        if wanted:
            self._names.update(await self._channel.names_of(wanted))

    def in_reply(self, reply: str) -> str:
        """A reply in which known names stand for the ids that a model wrote: they read well, and call no one."""
        return with_names(reply, self._names)

    def shown(self, prompt: Prompt) -> Prompt:
        """A prompt in which names stand for ids."""
        return replace(
            prompt,
            system=tuple(replace(one, text=with_names(one.text, self._names)) for one in prompt.system),
            messages=tuple(replace(one, text=with_names(one.text, self._names)) for one in prompt.messages),
        )
