"""What souls, daemons and people share live."""
