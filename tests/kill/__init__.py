"""Daemons killed at any instant, and the count of what was lost or said twice."""
