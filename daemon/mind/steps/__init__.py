"""Cognitive steps: one module each, one pure function that returns a Step; no model is needed to test any of them."""
