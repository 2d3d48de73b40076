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
        self._speech: list[str] = []
        self._passed = 0
        self._tagged: TaggedOutput | None = None
        self._over = False
        self.withdrawn = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return the words that may be shown now."""
        self._tokens.feed(piece)
        return "" if self._tagged else self._fresh()

    def finish(self) -> str:
        """End the answer; return the words that may still be shown."""
        if self._tagged is None:
            return self._fresh()
        self._tagged.finish()
        if not self._tagged.reply_met:
            return self._fresh()
        self.withdrawn = self.withdrawn or self._passed > 0
        return "" if self.withdrawn else self.words

    @property
    def words(self) -> str:
        """What the answer says aloud; empty when that can't be distinguished."""
        if self._tagged is not None and self._tagged.reply_met:
            return self._tagged.reply or ""
        return "".join(self._speech)

    def _fresh(self) -> str:
        fresh = "".join(self._speech[self._passed :])
        self._passed = len(self._speech)
        return fresh

    def _take(self, token: Token) -> None:
        if self._over:
            return
        if self._tagged is not None:
            self._tagged.feed(token.raw)
        elif token.kind is Kind.TEXT:
            self._speech.append(token.raw)
        elif token.kind is Kind.SUSPECT or (token.kind is Kind.CLOSE and token.name == REPLY_TAG):
            self._over = True
            if "/" in token.raw and token.kind is Kind.SUSPECT:
                self._drop_speech()
        else:
            if token.kind is Kind.CLOSE:
                self._drop_speech()
            self._tagged = TaggedOutput()
            self._tagged.feed(token.raw)

    def _drop_speech(self) -> None:
        """A private element ended that was never begun: the speech belonged to it."""
        self.withdrawn = self.withdrawn or self._passed > 0
        self._speech.clear()
        self._passed = 0
