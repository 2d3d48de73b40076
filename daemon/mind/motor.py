"""What the soul does in the world: speech is streamed at once, every other effect is collected for the commit."""

from collections.abc import AsyncIterable, Mapping

from daemon.core.ports import Speech, Task
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.cross_posts import CrossPost
from daemon.memory.queues.intentions import NewIntention


class Motor:
    """The hands of one cycle. `speech` shows a reply while it is made; None keeps silent until the commit.

    Only `settle` decides what was said: the text that streamed is a draft, which the channel replaces if it differs.
    """

    def __init__(self, speech: Speech | None) -> None:
        self._speech = speech
        self._reply = ""
        self._below: list[str] = []
        self._reflections: dict[str, object] = {}
        self._intentions: list[NewIntention] = []
        self._cancelled: list[str] = []
        self._approval: NewApproval | None = None
        self._errand: CrossPost | None = None

    @property
    def reply(self) -> str:
        """What is to be said in the end, with what the house adds below it."""
        return "\n\n".join(filter(None, (self._reply, *self._below)))

    @property
    def annotations(self) -> Mapping[str, object]:
        """What is kept privately beside the reply: thoughts, verbs, checks."""
        return self._reflections

    @property
    def intentions(self) -> tuple[NewIntention, ...]:
        """What is to be perceived later; at most one for each slot."""
        return tuple({one.slot: one for one in self._intentions}.values())

    @property
    def cancelled(self) -> tuple[str, ...]:
        """Slots of this conversation in which nothing is to be perceived later any more."""
        return tuple(self._cancelled)

    @property
    def approval(self) -> NewApproval | None:
        """The question for permission that the reply asks."""
        return self._approval

    @property
    def cross_post(self) -> CrossPost | None:
        """What is to be said elsewhere."""
        return self._errand

    async def speak(self, pieces: AsyncIterable[str]) -> None:
        """Show a reply as it is being made. Raises what the pieces raise."""
        async for piece in pieces:
            if self._speech is not None:
                await self._speech.say(piece)

    async def show(self, task: Task) -> None:
        """Let people see how far a piece of work is, where they see the reply being made."""
        if self._speech is not None:
            await self._speech.show(task)

    def settle(self, reply: str) -> None:
        """This is the reply, whatever was shown of it so far."""
        self._reply = reply

    def add_below(self, words: str) -> None:
        """The house's own words below the reply, whichever it will be: what people have to be told in any case."""
        self._below.append(words)

    def annotate(self, **private: object) -> None:
        """Keep private thought with the turn; JSON values only. None is left out."""
        self._reflections.update({name: value for name, value in private.items() if value is not None})

    def schedule(self, intention: NewIntention) -> None:
        """Perceive something later in this conversation; it takes the place of whatever waits in the same slot."""
        self._intentions.append(intention)

    def cancel(self, slot: str) -> None:
        """Don't perceive later what waits in a slot of this conversation."""
        self._cancelled.append(slot)

    def ask_permission(self, approval: NewApproval) -> None:
        """Put a question under the reply that has to be answered by a click before something is done."""
        self._approval = approval

    def withdraw_question(self) -> None:
        """Ask for nothing after all: the reply that was to ask is not going to be given."""
        self._approval = None

    def post_elsewhere(self, cross_post: CrossPost) -> None:
        """Say something elsewhere, as it was allowed."""
        self._errand = cross_post
