"""What do souls and people share? Typed contexts, and the news of a change."""
