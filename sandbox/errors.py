"""What can go wrong in this package, named by what is the matter."""


class SupervisorUnavailable(Exception):
    """No supervisor answers, and none could be started."""


class SpawnFailed(Exception):
    """The program could not be started: it is confirmed that nothing runs."""

    def __init__(self, errno: int | None, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message
