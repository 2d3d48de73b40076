"""The tree of expected errors, which adapters raise instead of a library's, with the original as the cause."""

import errno
from typing import Final

_LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOSPC})


def of_machine(error: BaseException | None) -> bool:
    """Return true if an error, or a cause of it, says that the machine lacks descriptors, memory or disk.

    No message, model or user is to blame for that (DESIGN 7, ruling 26).
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
    """The base of all expected failures: `message` says what happened, `hint` what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(DaemonError):
    """Raised when a setting is missing or wrong."""


class SoulError(DaemonError):
    """Raised when a soul's folder is unreadable or invalid."""


class StoreError(DaemonError):
    """Raised when memory.db fails."""


class StoreBusy(StoreError):
    """Raised when another process held the write lock past our deadline."""


class StoreFull(StoreError):
    """Raised when the disk is full."""


class IndexDamaged(DaemonError):
    """Raised when a full-text index, not its source, is damaged. All other work continues during the rebuild."""


class StoreDamaged(StoreError):
    """Raised when memory.db is damaged: only a backup helps."""


class SchemaMismatch(StoreError):
    """Raised when a newer or a foreign program wrote the file."""


class LostLease(StoreError):
    """Raised when another claim owns the work. Nothing was written."""


class ModelError(DaemonError):
    """Raised when a language model fails."""


class ModelUnavailable(ModelError):
    """Raised when a model is unreachable, overloaded or too slow. `retry_after` is in seconds, if given."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class StillLoading(ModelUnavailable):
    """Raised while the server loads the model: a later retry succeeds."""


class ModelRefused(ModelError):
    """Raised when the model refused, or when our request was wrong. The same request would fail again."""


class NoAccess(ModelRefused):
    """Raised when any request would be refused: the key, the credit, the model's name or the address is wrong."""


class CannotSee(ModelRefused):
    """Raised when a model that sees no pictures was asked about one."""


class MalformedReply(ModelError):
    """Raised when the reply has the wrong form. `reply` is the reply."""

    def __init__(self, message: str, *, reply: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reply = reply


class CutShort(MalformedReply):
    """Raised when the reply met its output limit before there was anything to use."""


class OnlyThought(CutShort):
    """Raised when hidden thinking used up the output limit, and no answer is left."""


class CapMet(ModelError):
    """Raised instead of a model call that would exceed a day's cap. `paid_by` says whose cap, `usd` its amount.

    `until_ms` is when the cap is renewed, or earlier when background work may be tried again.
    """

    def __init__(self, message: str, *, hint: str, paid_by: str, usd: float, until_ms: int) -> None:
        super().__init__(message, hint=hint)
        self.paid_by, self.usd, self.until_ms = paid_by, usd, until_ms


class TickBudgetMet(CapMet):
    """Raised instead of a model call that might exceed the budget for unasked thoughts.

    `alone`: the call might exceed the whole budget, whatever other thoughts have used.
    """

    def __init__(self, message: str, *, hint: str, usd: float, until_ms: int, alone: bool) -> None:
        super().__init__(message, hint=hint, paid_by="soul", usd=usd, until_ms=until_ms)
        self.alone = alone


class WrongOpening(MalformedReply):
    """Raised when the reply does not begin as the soul would. Nothing of it was shown."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reply="")


class ChannelError(DaemonError):
    """Raised when Slack or another channel fails."""


class NotDelivered(ChannelError):
    """Raised when a post was surely not sent: sending again is safe, after `retry_after` seconds if given."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class AccessLost(NotDelivered):
    """Raised when the platform does not accept our token or its scopes. Nothing was sent; an admin has to act."""


class DeliveryUncertain(ChannelError):
    """Raised when a post may or may not have been sent: look before sending again."""


class HistoryClosed(DeliveryUncertain):
    """Raised when a post may or may not have been sent and the platform refuses for good to show its history."""


class ChannelRefused(ChannelError):
    """Raised when the platform refuses, now and later. `code` is its name for the reason."""

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class FileRefused(DaemonError):
    """Raised when a file of a message is not read. `message` is a Sentence that says why and calls the file "it"."""


class DocumentUnreadable(DaemonError):
    """Raised when a document can't be read. `message` gives the reason and calls it "it"; `why` is its code."""

    def __init__(self, message: str, *, hint: str = "", why: str) -> None:
        super().__init__(message, hint=hint)
        self.why = why


class ToolFailed(DaemonError):
    """Raised when a tool call failed. `uncertain`: the call may have taken effect nevertheless."""

    def __init__(self, message: str, *, hint: str = "", uncertain: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.uncertain = uncertain


class ProcessFailed(DaemonError):
    """Raised when mental processes looped, or when one led to a process that it may not enter."""
