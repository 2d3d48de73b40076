"""What do souls and people share? Typed contexts, and the bells that tell of a change."""
