"""The tree of expected errors; each says what happened and carries a hint that says what to do.

    DaemonError
      ConfigError              a setting is missing or wrong
      SoulError                a soul's folder is unreadable or invalid
      StoreError               memory.db
        StoreBusy              another process held the lock past our deadline
        StoreFull              the disk is full
        StoreDamaged           the file is damaged; only a backup helps
      IndexDamaged             a search met damage in its own index, which is built anew
        SchemaMismatch         a newer or a foreign program wrote the file
        LostLease              another claim owns this work; nothing was written
      ModelError               a language model
        ModelUnavailable       unreachable, overloaded or too slow
          StillLoading         its server is up and loads it
        ModelRefused           it refused, or our request was wrong
          CannotSee            it was shown a picture, and has no eyes
        MalformedReply         it answered in the wrong form
          CutShort             it met its output limit before there was anything to use
            OnlyThought        its thinking alone took all of that limit
        CapMet                 it was not asked: what may be spent on a day is spent
      ChannelError             Slack or another channel
        NotDelivered           surely not sent; sending again is safe
          AccessLost           the platform does not accept our token or its scopes; an admin has to act
        DeliveryUncertain      may or may not have been sent; look before sending again
          HistoryClosed        the platform refuses for good to show whether it was sent
        ChannelRefused         the platform refuses, now and later
      ToolFailed               a tool call failed
      FileRefused              a file in a message is too large, too strange, or gone
      DocumentUnreadable       a document is protected, damaged, too large, or holds no text
      ProcessFailed            mental processes looped or entered a forbidden one

Adapters raise these instead of a library's exceptions, with the original as the cause.
"""

import errno
from typing import Final

_LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOSPC})


def of_machine(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that the machine lacks descriptors, memory or disk.

    No message, model or person is to blame for that (DESIGN 7, ruling 26).
    """
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _LACKING):
            return True
        if isinstance(error, BaseExceptionGroup) and any(map(of_machine, error.exceptions)):
            return True
        error = error.__cause__ or error.__context__
    return False


class DaemonError(Exception):
    """Base of all expected failures: `message` says what happened, `hint` what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(DaemonError):
    """A setting is missing or wrong."""


class SoulError(DaemonError):
    """A soul's folder is unreadable or invalid."""


class StoreError(DaemonError):
    """memory.db failed."""


class StoreBusy(StoreError):
    """Another process held the write lock past our deadline."""


class StoreFull(StoreError):
    """The disk is full."""


class IndexDamaged(DaemonError):
    """A full-text index is damaged, not what it was made from; it is built anew, and nothing else has to wait."""


class StoreDamaged(StoreError):
    """The file is damaged: nothing that runs on it can be trusted, and only a backup helps."""


class SchemaMismatch(StoreError):
    """A newer or a foreign program wrote the file."""


class LostLease(StoreError):
    """Another claim owns this work now; nothing was written."""


class ModelError(DaemonError):
    """A language model failed."""


class ModelUnavailable(ModelError):
    """It is unreachable, overloaded or too slow; `retry_after` is in seconds, if the provider gave it."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class StillLoading(ModelUnavailable):
    """Its server is up and loads it: asked again in a while, it answers."""


class ModelRefused(ModelError):
    """It refused, or our request was wrong; the same request would fail again."""


class NoAccess(ModelRefused):
    """Any request would be refused: the key, the credit, the model's name or the address is wrong."""


class CannotSee(ModelRefused):
    """The model was asked about a picture, and sees none."""


class MalformedReply(ModelError):
    """It answered in the wrong form; `reply` is its answer."""

    def __init__(self, message: str, *, reply: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reply = reply


class CutShort(MalformedReply):
    """It met its output limit before there was anything to use."""


class OnlyThought(CutShort):
    """Its hidden thinking used up the output limit, so that there is no answer."""


class CapMet(ModelError):
    """The model was not asked, since a cap of the day is met; `paid_by` says whose, `usd` how much may be spent.

    `until_ms` is when as much may be spent again, and when work in the background may be tried again.
    """

    def __init__(self, message: str, *, hint: str, paid_by: str, usd: float, until_ms: int) -> None:
        super().__init__(message, hint=hint)
        self.paid_by, self.usd, self.until_ms = paid_by, usd, until_ms


class TickBudgetMet(CapMet):
    """The model was not asked, since an unasked thought might take more than is left for such.

    `alone`: it might take more than all that there is for such, which says nothing of others.
    """

    def __init__(self, message: str, *, hint: str, usd: float, until_ms: int, alone: bool) -> None:
        super().__init__(message, hint=hint, paid_by="soul", usd=usd, until_ms=until_ms)
        self.alone = alone


class WrongOpening(MalformedReply):
    """Its reply began in a way that is not the soul's; nothing of it was shown."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reply="")


class ChannelError(DaemonError):
    """Slack or another channel failed."""


class NotDelivered(ChannelError):
    """Surely not sent; sending again is safe, after `retry_after` seconds if the platform gave them."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class AccessLost(NotDelivered):
    """Surely not sent: the platform does not accept our token or its scopes; an admin has to act."""


class DeliveryUncertain(ChannelError):
    """May or may not have been sent; look before sending again."""


class HistoryClosed(DeliveryUncertain):
    """May or may not have been sent, and the platform refuses for good to show its history."""


class ChannelRefused(ChannelError):
    """The platform refuses, now and later; `code` is its name for the reason."""

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class FileRefused(DaemonError):
    """A file of a message is not read: `message` is a Sentence that says of "it" why."""


class DocumentUnreadable(DaemonError):
    """Nothing can be read of a document: `message` says of "it" why, `why` is the code of the reason."""

    def __init__(self, message: str, *, hint: str = "", why: str) -> None:
        super().__init__(message, hint=hint)
        self.why = why


class ToolFailed(DaemonError):
    """A tool call failed; `uncertain` when it may have taken effect nevertheless."""

    def __init__(self, message: str, *, hint: str = "", uncertain: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.uncertain = uncertain


class ProcessFailed(DaemonError):
    """Mental processes looped, or one led to a process that it may not enter."""
