"""Identifiers: a prefix for the kind and a UUIDv7. Selectors, never credentials."""

import re
import secrets
from enum import StrEnum

from workspace_server.domain.clock import Clock


class IdKind(StrEnum):
    """What an id names; the value is its prefix."""

    OPERATION = "op"
    PROCESS = "proc"
    APPROVAL = "appr"
    WORK = "work"
    INTENT = "int"


_UUID7 = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def mint(kind: IdKind, clock: Clock) -> str:
    """Return a new id that sorts by its time of birth (RFC 9562, section 5.7)."""
    milliseconds = int(clock.now().timestamp() * 1000)
    random = secrets.randbits(74)
    value = (
        (milliseconds & (2**48 - 1)) << 80
        | 0x7 << 76
        | (random >> 62) << 64
        | 0b10 << 62
        | random & (2**62 - 1)
    )
    digits = f"{value:032x}"
    groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"{kind}-{'-'.join(groups)}"


def is_id(kind: IdKind, text: str) -> bool:
    """Tell whether `text` has the form of an id of this kind."""
    return re.fullmatch(rf"{kind}-{_UUID7}", text) is not None
