"""Any byte of an answer shows that its model is alive, also a ping or a comment that an SDK passes over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_LISTENER: Final[ContextVar[Callable[[], None] | None]] = ContextVar("listener", default=None)


@contextmanager
def listening(hear: Callable[[], None]) -> Iterator[None]:
    """Call `hear` at each piece of an HTTP answer that this task reads within the block."""
    token = _LISTENER.set(hear)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def heard() -> None:
    """Tell who listens that bytes have come."""
    if (hear := _LISTENER.get()) is not None:
        hear()
