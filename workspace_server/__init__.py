"""workspace-server: an MCP server with an operation ledger, for coding agents."""
