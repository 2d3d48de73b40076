"""Language models: one adapter per wire protocol, a router over them, and one layer of limits and retries."""
