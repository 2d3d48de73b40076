"""What may the soul look up and use? MCP servers and the admin's library of documents."""
