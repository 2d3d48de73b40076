"""The expectations of souls about what comes next, and their scores."""
