"""What is still to be done, and what came of it? Inbox, outbox, jobs, intentions, approvals and commits."""
