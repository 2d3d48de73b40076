"""What a soul perceives beside words (seed 002, *Sensorium*): readings that wait for its next thought."""
