"""What can an admin see and change? Overviews, queue repair, schedules and restores."""
