"""Deliberate breaks of the daemon, and the check that a test notices each of them. No part of the daemon."""
