"""The queues of memory.db: inbox, outbox, jobs, intentions, approvals and commits."""
