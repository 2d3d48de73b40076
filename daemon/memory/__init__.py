"""The substrate: memory.db, its schema and every statement of SQL in the house."""
