"""The search of memory by words and vectors, and the vector index, which can always be rebuilt from memory.db."""
