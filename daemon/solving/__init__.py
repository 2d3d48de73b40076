"""What a hard problem needs besides actions: what is kept of it, and permission for what would change the world."""
