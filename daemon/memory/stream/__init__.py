"""The stream of thought: what a soul thought, each thought a row that names the one before it."""
