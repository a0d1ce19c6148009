"""Where the supervisor of a folder listens."""

SOCKET_NAME = "socket"
