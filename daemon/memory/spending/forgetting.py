"""Takes a forgotten person out of the ledger of model calls: what was spent stays, without a name."""

from daemon.memory.database import Transaction

_STATEMENTS = (
    "UPDATE llm_calls SET person = '' WHERE person = :person AND person <> '' AND workspace = :workspace",
    "UPDATE reservations SET person = '' WHERE person = :person AND person <> '' AND workspace = :workspace",
    "DELETE FROM spending WHERE paid_by = 'person' AND id = :person AND workspace = :workspace",
)


async def forget_payer(transaction: Transaction, workspace: str, person: str) -> None:
    """Forget for whom model calls were made; the caps of the soul and of the rooms count them as before."""
    for statement in _STATEMENTS:
        await transaction.run(statement, person=person, workspace=workspace)
