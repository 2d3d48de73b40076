"""Who may talk to the soul, and where? Admission, people, channels and threads."""
