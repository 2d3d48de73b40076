"""The model calls: one adapter per wire protocol, a router over them, and one layer that bounds every call."""
