"""Lets an effect leave a talk only as its person said: to a place that they named, with words that they wrote.

A model fills in where something goes and what it says; a text that it read may have told it so. So both have to stand
in the newest words of the person themselves: what they quote or forward, and what their documents say, counts for
nothing (DESIGN 7, ruling 25).
"""

from daemon.core.ports.channel import Room
from daemon.core.ports.files import SHARED
from daemon.core.words import holds_whole, likeness, terms_of, words_of
from daemon.mind.mental_process import ProcessContext

_SURELY = 0.5  # how alike a word has to be to one that was said, see `words.likeness`: forms of one word
_AT_ONCE = 12  # words of a text that are looked up together
_OF_OTHERS = (">", "&gt;", SHARED)


class NotSaid(Exception):
    """The person did not say it; the message is a clause about them."""


def newest_words(context: ProcessContext) -> list[str]:
    """The messages of the person who is answered since the last reply."""
    person = context.perception.author
    return [one.content for one in context.memory if one.metadata.get("source") == person]


def require_said(context: ProcessContext, room: Room, called: str, words: str) -> None:
    """Raises NotSaid where a room is neither this talk's nor named by the person, or words for others aren't theirs.

    `called` is what the model calls the room. Words may go as they are where all who read them there read along here.
    """
    if room.channel == context.perception.conversation.channel:
        return
    own = "\n".join(_own_lines(newest_words(context)))
    if not (holds_whole(own, called.removeprefix("#")) or room.channel in own):
        raise NotSaid("they have not named that channel in what they just wrote; ask which one they mean")
    if room.audience.within(context.cycle.readers.audience):
        return
    said = set(words_of(own))
    wanted = words_of(words)
    for start in range(0, len(wanted), _AT_ONCE):
        terms = terms_of(" ".join(wanted[start : start + _AT_ONCE]))
        if any(max((likeness(term, word) for word in said), default=0.0) < _SURELY for term in terms):
            raise NotSaid(
                "in another place only their own words come up, and not all of these are in what they just wrote; ask "
                "them to write what it is to say there"
            )


def _own_lines(texts: list[str]) -> list[str]:
    """The lines of messages but for those that quote, or name a file."""
    return [line for text in texts for line in text.splitlines() if not line.lstrip().startswith(_OF_OTHERS)]
