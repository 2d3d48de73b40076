"""What people decide of what is known of them: to see it, correct it, take it along, pause it, have it forgotten."""
