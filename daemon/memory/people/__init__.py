"""The users' control of their memories: see, correct, export, pause and forget them."""
