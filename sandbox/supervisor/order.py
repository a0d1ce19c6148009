"""What a client orders: the fields of a dispatch, checked."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.supervisor.spool import DEFAULT_LIMIT_BYTES


class BadRequest(Exception):
    """The request is not of the form that the protocol has; nothing was done."""


@dataclass(frozen=True, kw_only=True)
class Stdin:
    """What a command reads."""

    data: bytes
    keep_open: bool  # False: end of input follows the data


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """The size of a terminal, in characters."""

    rows: int
    cols: int


@dataclass(frozen=True, kw_only=True)
class Order:
    """A command to be run under ids that its client has minted."""

    operation_id: str
    process_id: str
    group: str  # a name of the client's for what belongs together
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]  # the whole environment
    stdin: Stdin | None  # None: the null device
    tty: Terminal | None
    timeout_ms: int | None
    orphan_grace_ms: int | None  # how long it may run when no client is there; None: to its end
    output_limit_bytes: int = DEFAULT_LIMIT_BYTES


def order_from(parameters: Mapping[str, Any]) -> Order:
    """Return the order that a request's parameters make; raise BadRequest."""
    try:
        stdin, tty = parameters["stdin"], parameters["tty"]
        return Order(
            operation_id=_name(parameters["operation_id"]),
            process_id=_name(parameters["process_id"]),
            group=str(parameters["group"]),
            argv=tuple(map(str, parameters["argv"])),
            cwd=str(parameters["cwd"]),
            env={str(name): str(value) for name, value in parameters["env"].items()},
            stdin=stdin
            and Stdin(data=base64.b64decode(stdin["data"]), keep_open=bool(stdin["keep_open"])),
            tty=tty and Terminal(rows=int(tty["rows"]), cols=int(tty["cols"])),
            timeout_ms=_milliseconds(parameters["timeout_ms"]),
            orphan_grace_ms=_milliseconds(parameters["orphan_grace_ms"]),
            output_limit_bytes=int(parameters.get("output_limit_bytes") or DEFAULT_LIMIT_BYTES),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"dispatch: {error!r}") from error


def _name(value: object) -> str:
    """Return an id; it becomes the name of a folder, so it may hold no path."""
    text = str(value)
    if not text or "/" in text or text.startswith("."):
        raise ValueError(f"{text!r} is no id")
    return text


def _milliseconds(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number of milliseconds")
    return value
