"""What the soul does in the world: speech is streamed at once, every other effect is collected for the commit."""

from collections.abc import AsyncIterable, Mapping

from daemon.ports import Speech


class Motor:
    """The hands of one cycle. `speech` shows a reply while it is made; None keeps silent until the commit.

    Only `settle` decides what was said: the text that streamed is a draft, which the channel replaces if it differs.
    """

    def __init__(self, speech: Speech | None) -> None:
        self._speech = speech
        self._reply = ""
        self._reflections: dict[str, object] = {}

    @property
    def reply(self) -> str:
        """What is to be said in the end."""
        return self._reply

    @property
    def reflections(self) -> Mapping[str, object]:
        """What is kept privately beside the reply: thoughts, verbs, checks."""
        return self._reflections

    async def speak(self, pieces: AsyncIterable[str]) -> None:
        """Show a reply as it is being made. Raises what the pieces raise."""
        async for piece in pieces:
            if self._speech is not None:
                await self._speech.say(piece)

    def settle(self, reply: str) -> None:
        """This is the reply, whatever was shown of it so far."""
        self._reply = reply

    def reflect(self, **private: object) -> None:
        """Keep private thought with the turn; JSON values only. None is left out."""
        self._reflections.update({name: value for name, value in private.items() if value is not None})
