"""What is known? Turns, people, soul states, the library, and how they are searched and forgotten."""
