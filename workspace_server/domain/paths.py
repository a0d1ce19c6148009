"""Workspace-relative paths: the one rule for what a client may name."""

from workspace_server.domain.errors import PathEscape

MAX_PATH_BYTES = 4096


def parse_path(text: str) -> str:
    """Return `text` in its one spelling: POSIX, relative, no `.` and no doubled slash.

    The root itself is `.`. Raises PathEscape for what is absolute, holds `..` or NUL, is empty or
    longer than 4,096 bytes. Links are the business of whoever opens the path.
    """
    if not text:
        raise PathEscape("The path is empty.")
    if "\0" in text:
        raise PathEscape("The path holds a NUL character.")
    if _size_bytes(text) > MAX_PATH_BYTES:
        raise PathEscape(f"The path is longer than {MAX_PATH_BYTES} bytes.")
    if text.startswith("/"):
        raise PathEscape(f"The path {text!r} is absolute.")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PathEscape(f"The path {text!r} holds '..'.")
    return "/".join(parts) or "."


def _size_bytes(text: str) -> int:
    try:
        return len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError as error:
        raise PathEscape("The path holds half of a surrogate pair, which no name can.") from error


def parent_of(path: str) -> str:
    """Return the folder that holds `path`; `.` for what lies in the root."""
    return path.rpartition("/")[0] or "."


def is_inside_git(path: str) -> bool:
    """Tell whether a component of `path` is `.git`, in any case that a file system may fold."""
    return any(part.casefold() == ".git" for part in path.split("/"))
