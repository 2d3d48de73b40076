"""Who may talk to the soul, and where? The gate, users, channels and threads."""
