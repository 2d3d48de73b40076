"""Daemons killed at any instant, and the count of lost and doubled replies."""
