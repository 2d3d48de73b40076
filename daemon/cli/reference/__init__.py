"""Which pages are generated from the code? One writer per page."""
