"""Answers what people ask and decide about what is known of them, without a model."""
