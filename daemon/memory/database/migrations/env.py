"""Alembic's entry: runs all due steps in one transaction on the connection that `migrate` passes."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], target_metadata=None, transaction_per_migration=False
)
with context.begin_transaction():
    context.run_migrations()
