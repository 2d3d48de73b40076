"""SQL for what souls, daemons and users share: contexts, notes, sessions, keys and questions."""
