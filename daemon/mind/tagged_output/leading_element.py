"""The element that an answer begins with: only there may a model say what the words call for."""

from daemon.mind.tagged_output import VOCABULARY, WISH_TAG
from daemon.mind.tagged_output.tags import Kind, Token, Tokenizer

_LONGEST = 200  # characters of the element's text, or of the space before it; a longer one is none


class LeadingElement:
    """Reads `calls_for` where it is the very first element, at any cut of the stream.

    Anything but space before it, and any tag within it, makes it none: a wish that is quoted or forged further down
    never counts.
    """

    def __init__(self) -> None:
        self._tokens = Tokenizer(VOCABULARY, self._take)
        self._text = ""
        self._open = False
        self.decided = False
        self.content: str | None = None
        self.others = 0

    @classmethod
    def of(cls, answer: str) -> "LeadingElement":
        """The one of a whole answer."""
        element = cls()
        element.feed(answer)
        return element

    def feed(self, text: str) -> None:
        """Take the next piece; `content` is set once the element is closed, `others` counts equal tags elsewhere."""
        self._tokens.feed(text)

    def _take(self, token: Token) -> None:
        if self.decided:
            self.others += token.name == WISH_TAG and token.kind is not Kind.CLOSE
        elif token.kind is Kind.TEXT:
            self._text += token.raw
            self.decided = len(self._text) > _LONGEST or not (self._open or self._text.isspace())
        elif self._open:
            self._end(self._text if token.kind is Kind.CLOSE and token.name == WISH_TAG else None, token)
        elif token.name != WISH_TAG or token.kind is Kind.CLOSE:
            self._end(None, token)
        elif token.kind is Kind.EMPTY:
            self.decided, self.content = True, ""
        else:
            self._open, self._text = True, ""

    def _end(self, content: str | None, token: Token) -> None:
        self.decided = True
        self.content = None if content is None else content.strip()
        self.others += token.name == WISH_TAG and token.kind is not Kind.CLOSE
