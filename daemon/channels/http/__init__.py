"""The HTTP door: programs talk with the soul, watch its health and read its personality."""
