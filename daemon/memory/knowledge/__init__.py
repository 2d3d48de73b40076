"""What does the soul know? Turns, user models, soul states and the library, how they are searched and forgotten."""
