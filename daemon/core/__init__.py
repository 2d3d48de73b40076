"""What may every room import? Values, ports, errors, the clock, settings and telemetry."""
