"""The readers of each kind of document. They run in the reading process alone, on files that may be hostile."""
