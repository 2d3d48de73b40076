"""What the soul does after it has spoken; each is named by a present-tense sentence."""
