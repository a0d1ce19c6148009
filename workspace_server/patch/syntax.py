"""What both patch languages share: complaints that name a line, and paths a patch may name."""

from workspace_server.domain.errors import InvalidPatch, PathEscape
from workspace_server.domain.paths import is_inside_git, parse_path

_SHOWN = 120  # characters of a line in a complaint


def syntax_error(line_number: int, expected: str, found: str, recovery: str) -> InvalidPatch:
    """Return the complaint that line `line_number` of the patch is not what it should be."""
    shown = printable(found[:_SHOWN])
    return InvalidPatch(
        f"Line {line_number} of the patch: expected {expected}, found {shown!r}.",
        recovery=recovery,
        details={"line": line_number, "expected": expected, "found": shown},
    )


def workspace_path(name: str) -> str:
    """Return the path that a patch names, in its one spelling.

    Raises PathEscape for what no patch may touch, InvalidPatch for a name that is not UTF-8.
    """
    if printable(name) != name:
        raise InvalidPatch(
            f"The path {printable(name)!r} is not UTF-8, so it cannot be named here.",
            recovery="Handle this file with a command.",
        )
    path = parse_path(name)
    if path == ".":
        raise PathEscape("The patch names the workspace root as a file.")
    if is_inside_git(path):
        raise PathEscape(
            f"The path {path!r} lies inside .git, which no patch may change.",
            recovery="Leave .git out of the patch; use git commands instead.",
        )
    return path


def printable(text: str) -> str:
    """Return `text` fit for a reply: bytes that are not UTF-8 become replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
