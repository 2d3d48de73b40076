"""The tools of the soul: MCP servers and the admin's library of documents."""
