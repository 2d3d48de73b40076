"""Which documents does the code write? One writer for each generated page."""
