"""How is each kind of document read? Runs in the reading process alone, on files that may be hostile."""
