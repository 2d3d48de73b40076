"""Notices what other processes store in the same memory.db: messages for conversations in work here, and work."""

from collections.abc import Awaitable, Callable

from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.clock import Clock
from daemon.mind.interrupts import Interrupt
from daemon.runtime.cycle_services import CycleServices
from daemon.shared.bells import POLL_S, Bells

_FIRST_GO_S = 0.02  # for the daemon that rings: who wrote over HTTP reads the reply there as it grows


async def watch_other_daemons(interrupt: Interrupt, conversation: ConversationKey, services: CycleServices) -> None:
    """Call the interrupt whenever memory.db holds a new message for the conversation; runs until cancelled."""
    calls = services.bells.calls
    while True:
        await services.bells.called_within(POLL_S, calls)
        calls = services.bells.calls
        interrupt.look()
        try:
            if await services.conversations.has_new_messages(conversation):
                interrupt.call()
        except StoreError as error:
            services.emit("store.failed", reason=error.message, hint=error.hint)


async def answer_bells(bells: Bells, clock: Clock, look: Callable[[], Awaitable[None]]) -> None:
    """Have this daemon look for work whenever another process rings for it, until cancelled. Looking rings no bell.

    A ring that comes during a look is answered by the next one.
    """
    calls = bells.calls
    while True:
        await bells.called(calls)
        await clock.sleep(_FIRST_GO_S)
        calls = bells.calls
        await look()
