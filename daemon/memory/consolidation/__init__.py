"""The stored state of nightly consolidation: its slots, the changes of each run, and the undoing of a run."""
