"""A speech in a DM whose clock a test turns."""

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.outgoing.drafts import Drafts
from daemon.channels.slack.outgoing.speech import SlackSpeech, Where
from daemon.core.ports import DraftLog
from tests.fakes import Events, FakeClock, FakeDrafts


class TimedSpeech:
    """A speech in Ada's DM whose clock is turned by hand."""

    def __init__(self, client: SlackClient, events: Events, root: str) -> None:
        self.clock = FakeClock()
        self.drafts = Drafts(self.clock)
        self.log = FakeDrafts()
        self._client, self._events, self._root = client, events, root
        self.speech = self.again()

    def again(self, log: DraftLog | None = None) -> SlackSpeech:
        """Another speech with the same memory."""
        where = Where("D0ADA", self._root)
        return SlackSpeech(self._client, where, log or self.log.log, self.drafts, self.clock, self._events)

    async def pass_time(self, seconds: float) -> None:
        """Turn the clock in steps, letting requests finish."""
        for _ in range(round(seconds / 0.04)):
            await self.clock.advance(0.04)
            await self._client.call("auth.test")  # answered after what the speech has asked before
