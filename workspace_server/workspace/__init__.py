"""The directories a client may use."""
