"""Gives each session of direct messages its title, by the first words that its person said there."""

from collections.abc import Callable

from daemon.core.channels import Channels
from daemon.core.errors import ChannelError, DeliveryUncertain, NotDelivered
from daemon.core.ports.telemetry import Emit
from daemon.core.sentences import Words
from daemon.core.session_titles import title_of
from daemon.memory.queues.session_titles import DueTitle, SessionTitles

_PAUSE = 60.0  # seconds until the next try, where the platform names none


class Titler:
    """Sets titles that are due; `words_in` gives the soul's words in a language, for what has no words of its own."""

    def __init__(self, titles: SessionTitles, channels: Channels, emit: Emit, words_in: Callable[[str], Words]) -> None:
        self._titles = titles
        self._channels = channels
        self._emit = emit
        self._words_in = words_in

    async def title(self, due: DueTitle) -> None:
        """Try a claimed title once. What the platform refuses stays without one. Raises StoreError alone."""
        if not due.words:  # deleted, or its author is forgotten
            await self._titles.end(due)
            return
        title = title_of(due.words) or self._words_in(await self._channels.main.language_of(due.author)).say("untitled")
        try:
            await self._channels.of(due.conversation).name_session(due.conversation, due.thread, title)
        except NotDelivered as error:
            await self._titles.put_off(due, error.retry_after or _PAUSE)
            self._emit("session.title_put_off", thread=due.thread, reason=error.message)
        except ChannelError as error:
            await self._titles.end(due)
            maybe = isinstance(error, DeliveryUncertain)
            self._emit("session.title_unsure" if maybe else "session.untitled", thread=due.thread, reason=error.message)
        else:
            await self._titles.end(due)
            self._emit("session.titled", thread=due.thread)
