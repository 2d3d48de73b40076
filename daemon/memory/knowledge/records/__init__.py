"""Records of memory: episodes, facts, senses and the soul's journal, written by this package alone (seed 004)."""
