"""How is a model asked? One adapter per wire protocol, a router over them, and one layer that bounds every call."""
