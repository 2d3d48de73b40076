"""What is kept? memory.db, its schema and every statement of SQL in the project."""
