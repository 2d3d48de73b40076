"""Whether a claim on a conversation still holds: asked in each transaction that writes under it."""

from daemon.core.errors import LostLease
from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.records import Claim


class ReadersChanged(LostLease):
    """Others read in the conversation than the claim is for; nothing was written, and a new cycle is due."""


async def require_claim(transaction: Transaction, claim: Claim) -> None:
    """Raises LostLease when the claim was committed or released, or another worker took it over.

    Raises ReadersChanged when the conversation's words are by now for fewer people than the claim takes them for, as
    when its channel was made private. Where they are for more, the claim's narrower audience is kept.
    """
    audience = await require_fence(transaction, claim)
    if not claim.audience.within(audience):
        raise ReadersChanged(
            f"{claim.conversation} is for {audience.kind} by now, no longer for {claim.audience.kind}",
            hint="nothing to do: the reply is begun anew",
        )


async def require_fence(transaction: Transaction, claim: Claim) -> Audience:
    """The audience of a conversation that is still claimed. Raises LostLease."""
    row = await transaction.one(
        "SELECT fence, lease_owner, audience FROM conversations WHERE id = :id", id=str(claim.conversation)
    )
    if row is None or (row["fence"], row["lease_owner"]) != (claim.fence, claim.owner):
        raise LostLease(
            f"this daemon no longer holds {claim.conversation}",
            hint="nothing to do: its reply is finished, or another daemon works on it",
        )
    return Audience.parse(row["audience"])
