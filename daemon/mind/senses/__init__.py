"""What was seen, heard and read becomes part of a prompt, and later a record."""
