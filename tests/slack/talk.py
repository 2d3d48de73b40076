"""A speech in a DM with a clock that the test advances."""

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.speech import Drafts, SlackSpeech, StreamTarget
from daemon.core.ports.services import DraftLog
from tests.fakes import Events, FakeClock, FakeDrafts


class TimedSpeech:
    """A speech in Ada's DM with a clock that the test advances."""

    def __init__(self, client: SlackClient, events: Events, root: str) -> None:
        self.clock = FakeClock()
        self.drafts = Drafts(self.clock)
        self.log = FakeDrafts()
        self._client, self._events, self._root = client, events, root
        self.speech = self.again()

    def again(self, log: DraftLog | None = None) -> SlackSpeech:
        """Another speech with the same drafts."""
        target = StreamTarget("D0ADA", self._root)
        return SlackSpeech(self._client, target, log or self.log.log, self.drafts, self.clock, self._events)

    async def say(self, text: str, seconds: float) -> None:
        """Say so much, and let time pass."""
        await self.speech.say(text)
        await self.pass_time(seconds)

    async def pass_time(self, seconds: float) -> None:
        """Advance the clock in steps, so that requests can finish."""
        for _ in range(round(seconds / 0.04)):
            await self.clock.advance(0.04)
            await self._client.call("auth.test")  # its response comes after those of earlier calls
