"""The senses: files, words and readings that become part of a prompt, and later a record."""
