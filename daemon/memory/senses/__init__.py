"""A soul's perception apart from words (seed 002, *Sensorium*): readings that wait for its next thought."""
