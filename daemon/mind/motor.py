"""The effects of a cycle: speech is streamed at once, every other effect is collected for the commit."""

from collections.abc import AsyncIterable, Callable, Mapping

from daemon.core.ports import Speech, Task
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.text import close_fence
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.cross_posts import CrossPost
from daemon.memory.queues.intentions import NewIntention


class Motor:
    """Collects the effects of one cycle. `speech` streams the reply to users; None shows nothing before the commit.

    Only `settle` decides what the reply is: streamed text is a draft, which the channel replaces if it differs. `words`
    are those of the daemon's own lines.
    """

    def __init__(self, speech: Speech | None, words: Words = HOUSE_WORDS) -> None:
        self._speech = speech
        self.words = words
        self._reply = ""
        self._cut = False
        self._below: list[str] = []
        self._annotations: dict[str, object] = {}
        self._intentions: list[NewIntention] = []
        self._cancelled: list[str] = []
        self._approval: NewApproval | None = None
        self._cross_post: CrossPost | None = None

    @property
    def reply(self) -> str:
        """The final reply, with the lines that the daemon adds below it."""
        cut = f"_{self.words.say('out_of_room')}_" if self._cut else ""
        return "\n\n".join(filter(None, (self._reply, cut, *self._below)))

    @property
    def said(self) -> str:
        """The final reply without the line that says that it is cut."""
        return "\n\n".join(filter(None, (self._reply, *self._below)))

    @property
    def cut(self) -> bool:
        """Whether the reply met the model's output limit."""
        return self._cut

    @property
    def annotations(self) -> Mapping[str, object]:
        """What is stored privately with the reply: thoughts, verbs, checks."""
        return self._annotations

    @property
    def intentions(self) -> tuple[NewIntention, ...]:
        """Perceptions to schedule; at most one for each slot."""
        return tuple({one.slot: one for one in self._intentions}.values())

    @property
    def cancelled(self) -> tuple[str, ...]:
        """Slots of this conversation whose scheduled perceptions are cancelled."""
        return tuple(self._cancelled)

    @property
    def approval(self) -> NewApproval | None:
        """The question for permission that the reply asks."""
        return self._approval

    @property
    def cross_post(self) -> CrossPost | None:
        """The post for another conversation."""
        return self._cross_post

    async def speak(self, pieces: AsyncIterable[str]) -> None:
        """Show a reply while it streams. Raises what the pieces raise."""
        async for piece in pieces:
            if self._speech is not None:
                await self._speech.say(piece)

    async def show(self, task: Task) -> None:
        """Show the progress of a piece of work, where the reply streams."""
        if self._speech is not None:
            await self._speech.show(task)

    def settle(self, reply: str, *, cut: bool = False) -> None:
        """Set the reply, whatever was streamed so far; one that is `cut` is closed, and says so."""
        self._reply, self._cut = close_fence(reply) if cut else reply, cut

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Change the settled reply; one that is cut stays so."""
        self._reply = change(self._reply)

    def add_below(self, words: str) -> None:
        """Add a line of the daemon's own below any reply: what users must learn in any case."""
        self._below.append(words)

    def annotate(self, **private: object) -> None:
        """Store private values with the turn; JSON values only. None is left out."""
        self._annotations.update({name: value for name, value in private.items() if value is not None})

    def schedule(self, intention: NewIntention) -> None:
        """Schedule a perception in this conversation; it replaces the one pending in the same slot."""
        self._intentions.append(intention)

    def cancel(self, slot: str) -> None:
        """Cancel the scheduled perception in a slot of this conversation."""
        self._cancelled.append(slot)

    def ask_permission(self, approval: NewApproval) -> None:
        """Put a question with buttons under the reply."""
        self._approval = approval

    def withdraw_question(self) -> None:
        """Remove the question: the reply that asks it is not going to be sent."""
        self._approval = None

    def post_elsewhere(self, cross_post: CrossPost) -> None:
        """Post an approved message in another conversation."""
        self._cross_post = cross_post
