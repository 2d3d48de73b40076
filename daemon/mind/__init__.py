"""How does the soul think? Steps, thoughts, the Mind that runs them and the Motor that acts."""
