"""Ports: what the daemon needs of the clock, models, channels, libraries, tools and telemetry.

A port says what its implementer must do. Adapters import these modules and the values in them, never the mind. The
store is not a port: tests run on a real SQLite file.
"""
