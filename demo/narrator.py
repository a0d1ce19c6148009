"""What the person at the screen sees, and what ends the show."""

import time


class Deviation(Exception):
    """Something is not as it was promised; the message says what."""


class Narrator:
    """Prints a line per step, with the time since the beginning and what the step took."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()

    def chapter(self, title: str) -> None:
        """Print a heading."""
        print(f"\n{title}", flush=True)

    def tell(self, text: str) -> None:
        """Print what has just been done, and seen to be right."""
        now = time.monotonic()
        print(f"{now - self._began:7.1f} s  {text}  ({now - self._told:.2f} s)", flush=True)
        self._told = now

    def quote(self, text: str, *, lines: int) -> None:
        """Print the first lines of what a program said."""
        for line in text.splitlines()[:lines]:
            print(f"           | {line}", flush=True)


def expect(found: object, expected: object, what: str) -> None:
    """Raise Deviation unless both are equal."""
    if found != expected:
        raise Deviation(f"{what}: expected {expected!r}, found {found!r}")


def expect_in(part: str, whole: object, what: str) -> None:
    """Raise Deviation unless `part` occurs in the text `whole`."""
    if not isinstance(whole, str) or part not in whole:
        raise Deviation(f"{what}: expected {part!r} in {str(whole)[:400]!r}")
