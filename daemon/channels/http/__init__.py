"""The HTTP API, with which programs talk with the soul, watch the daemon's health and read the soul's personality."""
