"""The words of an answer that was asked for in plain speech, though models write elements there all the same."""

from daemon.mind.tagged_output import REPLY_TAG, VOCABULARY, TaggedOutput
from daemon.mind.tagged_output.tags import Kind, Token, Tokenizer


class PlainOutput:
    """Passes on plain speech up to the first tag of an element, real or disguised.

    From there on only a well-formed `external_dialogue` counts, in place of everything before; without one, the speech
    before the first tag does. `withdrawn` says that other words were passed on already.
    """

    def __init__(self) -> None:
        self._tokens = Tokenizer(VOCABULARY, self._take)
        self._tagged = TaggedOutput()
        self._speech: list[str] = []
        self._passed = 0
        self._tag_met = False
        self.withdrawn = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return the words that may be shown now."""
        self._tokens.feed(piece)
        self._tagged.feed(piece)
        return "" if self._tag_met else self._fresh()

    def finish(self) -> str:
        """End the answer; return the words that may still be shown."""
        self._tagged.finish()
        if not self._tagged.reply_met:
            return self._fresh()
        self.withdrawn = self.withdrawn or self._passed > 0
        return "" if self.withdrawn else self.words

    @property
    def words(self) -> str:
        """What the answer says aloud; empty when that can't be distinguished."""
        return (self._tagged.reply or "") if self._tagged.reply_met else "".join(self._speech)

    def _fresh(self) -> str:
        fresh = "".join(self._speech[self._passed :])
        self._passed = len(self._speech)
        return fresh

    def _take(self, token: Token) -> None:
        if self._tag_met:
            return
        if token.kind is Kind.TEXT:
            self._speech.append(token.raw)
            return
        self._tag_met = True
        closes = token.kind is Kind.CLOSE and token.name != REPLY_TAG
        if closes or (token.kind is Kind.SUSPECT and "/" in token.raw):
            # A private element ends that never began: the speech before belonged to it.
            self.withdrawn = self._passed > 0
            self._speech.clear()
            self._passed = 0
