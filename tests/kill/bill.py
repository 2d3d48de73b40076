"""A vendor that keeps its own bill: what each call was charged, also when the daemon that made it was killed.

A call whose caller is gone is charged as if it had been read to its end, and counts with the most tokens that it can
have taken.
"""

import json
import os
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from daemon.core.ports.services import THOUGHT_ALONE, Clock, Completion, ModelRole, Prompt
from daemon.core.spending import PaidBy
from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens
from daemon.llm.prices import cost_of, most_tokens_of
from daemon.memory.database.sqlite import Transaction, sqlite3
from daemon.memory.spending import reservations
from tests.kill.mind import KilledMind
from tests.models import ScriptedLLM

_MODELS: Final = {
    ModelRole.PERSONA: "anthropic/claude-sonnet-5-5",
    ModelRole.THINKING: "anthropic/claude-mystery-9",  # of no known price: it counts as the dearest
}
_HIDDEN: Final = 5_000  # tokens of thinking that each answer is charged for
_LITTLE_HIDDEN: Final = 300  # the same, of a thought that no words have woken: it is asked for with little of it


class BilledCall(Value):
    """A call as the vendor charged it; `unasked` for a thought that no words have woken. It began at `at_ms` (UTC)."""

    id: str
    at_ms: int
    unasked: bool
    tokens: int
    usd: float


class BilledMind(ScriptedLLM):
    """A model of the daemons that are killed, at a price; one line of `bill` for each call that begins or ends."""

    def __init__(self, mind: KilledMind, clock: Clock, bill: Path) -> None:
        super().__init__()
        self._mind = mind
        self._clock = clock
        self._bill = bill

    def model_for(self, role: ModelRole) -> str:
        """See `LLM.model_for`."""
        return _MODELS[role]

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`."""
        model, id_, sent = prompt.model, secrets.token_hex(8), ""
        unasked, at_ms = THOUGHT_ALONE in prompt.messages[-1].text, self._clock.now_ms()
        hidden = _LITTLE_HIDDEN if unasked else _HIDDEN
        asked = estimate_tokens("".join((*(one.text for one in prompt.system), *(one.text for one in prompt.messages))))

        def charge(used: Completion, tokens: int = 0) -> None:
            taken = tokens or used.tokens_in + used.tokens_out
            self._note(BilledCall(id_, at_ms, unasked, taken, cost_of(used).usd))

        charge(Completion(model, asked, tokens_out=prompt.max_output_tokens), most_tokens_of(prompt))
        charged = Completion(model, asked)  # until something is sent
        try:
            async for piece in self._mind.stream(prompt):
                if isinstance(piece, Completion):
                    charged = Completion(model, asked, tokens_out=estimate_tokens(sent) + hidden)
                    yield charged
                else:
                    sent += piece
                    charged = Completion(model, asked, tokens_out=estimate_tokens(sent))
                    yield piece
        finally:
            charge(charged)

    def _note(self, call: BilledCall) -> None:
        line = json.dumps(asdict(call)) + "\n"
        file = os.open(self._bill, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def billed(bill: Path) -> list[BilledCall]:
    """All calls, each as it was charged in the end."""
    lines = bill.read_text(encoding="utf-8").splitlines() if bill.exists() else []
    calls = [BilledCall(**json.loads(line)) for line in lines]
    return list({one.id: one for one in calls}.values())


def forget_what_is_reserved() -> None:
    """The negative control: a call is held against what was spent alone."""
    counted = reservations._counted

    async def careless(transaction: Transaction, wanted: reservations.WantedCall, paid_by: PaidBy) -> tuple[int, int]:
        spent, _ = await counted(transaction, wanted, paid_by)
        return spent, 0

    reservations._counted = careless


def paid_by_each(connection: sqlite3.Connection, whose: str) -> list[float]:
    """What each person or room was charged on each day, by memory.db."""
    assert whose in {"soul", "person", "room"}
    rows = connection.execute(
        f"SELECT sum(cost_usd) FROM llm_calls WHERE {whose} <> '' GROUP BY day, {whose}"  # a column
    )
    return [float(usd or 0.0) for (usd,) in rows]
