"""What models read: a golden rendering of every step in every mode, and how much of a prompt was sent before."""
