"""What souls expect of what comes next, and how that is scored."""
