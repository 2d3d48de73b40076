"""The leak suite: random talk in random rooms, and who was shown what (P39)."""
