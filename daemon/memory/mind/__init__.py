"""The documents, goals and intentions of a soul, stored apart from its stream of thought."""
