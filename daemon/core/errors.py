"""What can go wrong, as one tree; every error says what happened and carries a hint that says what to do.

    DaemonError
      ConfigError              a setting is missing or wrong
      SoulError                a soul's folder can't be read or is invalid
      StoreError               memory.db
        StoreBusy              another process held the database past our deadline
        StoreFull              no room left on the disk
        SchemaMismatch         the file was written by a newer or a foreign program
        LostLease              somebody else owns this work now; nothing was written
      ModelError               a language model
        ModelUnavailable       it can't be reached, is overloaded or took too long
        ModelRefused           it understood and said no, or our request was wrong
        MalformedReply         it answered, but not in the form asked for
      ChannelError             Slack or another way in and out
        NotDelivered           surely not sent; sending again is safe
        DeliveryUncertain      may or may not have been sent; look before sending again
        ChannelRefused         the platform says no and will go on saying no
      ToolFailed               a tool could not be used
      ProcessFailed            mental processes went round in circles or where they may not

Adapters translate a library's exceptions into these at their own door and keep the cause (design, section 8).
"""


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
    """A soul's folder can't be read or is invalid."""


class StoreError(DaemonError):
    """memory.db can't do what was asked."""


class StoreBusy(StoreError):
    """Another process held the database past our deadline."""


class StoreFull(StoreError):
    """No room left on the disk."""


class SchemaMismatch(StoreError):
    """The file was written by a newer or a foreign program."""


class LostLease(StoreError):
    """Somebody else owns this work now; nothing was written."""


class ModelError(DaemonError):
    """A language model failed."""


class ModelUnavailable(ModelError):
    """It can't be reached, is overloaded or took too long; `retry_after` seconds when the provider said so."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ModelRefused(ModelError):
    """It understood and said no, or our request was wrong; the same request would fail again."""


class MalformedReply(ModelError):
    """It answered, but not in the form asked for; `reply` holds what it said."""

    def __init__(self, message: str, *, reply: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reply = reply


class ChannelError(DaemonError):
    """Slack or another way in and out failed."""


class NotDelivered(ChannelError):
    """Surely not sent; sending again is safe, after `retry_after` seconds when the platform said so."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class DeliveryUncertain(ChannelError):
    """May or may not have been sent; look before sending again."""


class ChannelRefused(ChannelError):
    """The platform says no and will go on saying no; `code` is its own name for the reason."""

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class ToolFailed(DaemonError):
    """A tool could not be used; `uncertain` when it may have been done all the same."""

    def __init__(self, message: str, *, hint: str = "", uncertain: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.uncertain = uncertain


class ProcessFailed(DaemonError):
    """Mental processes went round in circles, or one wanted to go where it may not."""
