"""One file per step, named by the schema version it leads to."""
