"""The steps that lead to the schema of memory.db; a new step is appended, an old one never edited."""
