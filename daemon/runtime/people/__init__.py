"""Answers to what people ask and decide about the facts known of them, without a model."""
