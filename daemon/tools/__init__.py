"""What the soul may look up and use: MCP servers and the admin's library of documents."""
