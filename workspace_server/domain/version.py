"""File versions: what a file's bytes were, as a precondition for changing them."""

import hashlib
import re

ABSENT = "absent"  # the version of a path where nothing exists
SHOWN_DIGITS = 16

_FORM = re.compile(r"sha256:[0-9a-f]{16,64}")


def full_version(content: bytes) -> str:
    """Return the version of `content` with all 64 digits, as the ledger keeps it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def shown_version(version: str) -> str:
    """Return `version` as clients see it: 16 digits, or `absent`."""
    return version if version == ABSENT else version[: len("sha256:") + SHOWN_DIGITS]


def is_version(text: str) -> bool:
    """Tell whether a client may give `text` as a version: `absent`, or 16 to 64 hex digits."""
    return text == ABSENT or _FORM.fullmatch(text) is not None


def matches(expected: str, found: str) -> bool:
    """Tell whether the client's `expected` (perhaps a prefix) names the full version `found`."""
    return found == expected if ABSENT in (expected, found) else found.startswith(expected)
