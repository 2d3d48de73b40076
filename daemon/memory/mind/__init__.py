"""What a soul holds beside its stream of thought."""
