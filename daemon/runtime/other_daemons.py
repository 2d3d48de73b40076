"""Notices messages that other daemons on the same memory.db accept for a conversation in work here."""

from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.mind.interrupts import Interrupt
from daemon.runtime.cycle_services import CycleServices

_POLL_S = 2.0


async def watch_other_daemons(interrupt: Interrupt, conversation: ConversationKey, services: CycleServices) -> None:
    """Call the interrupt whenever memory.db holds a new message for the conversation; runs until cancelled."""
    while True:
        await services.clock.sleep(_POLL_S)
        try:
            if await services.conversations.has_new_messages(conversation):
                interrupt.call()
        except StoreError as error:
            services.emit("store.failed", reason=error.message, hint=error.hint)
