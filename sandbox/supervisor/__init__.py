"""The process that owns running commands and outlives the server."""
