"""Measures the daemon from outside, as its own process on the local workspace, beside a bare Bolt bot."""
