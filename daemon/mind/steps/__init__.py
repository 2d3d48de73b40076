"""The cognitive steps: each a pure function that returns a Step and is testable without a model."""
