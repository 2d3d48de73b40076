"""How memory.db came to its present shape; a step is appended, never edited."""
