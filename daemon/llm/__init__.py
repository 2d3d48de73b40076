"""Language models: one adapter per wire protocol, a router over them and one layer that keeps every call bounded."""
