"""What a client orders, and the parameters that carry it over the socket."""

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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


def parameters_of(order: Order) -> Mapping[str, Any]:
    """Return the parameters of a dispatch, as JSON can carry them."""
    stdin = order.stdin and {
        "data": base64.b64encode(order.stdin.data).decode("ascii"),
        "keep_open": order.stdin.keep_open,
    }
    return {**asdict(order), "stdin": stdin}


def order_from(parameters: Mapping[str, Any]) -> Order:
    """Return the order that a request's parameters make; raise BadRequest."""
    try:
        stdin, tty = parameters["stdin"], parameters["tty"]
        return Order(
            operation_id=id_from(parameters["operation_id"]),
            process_id=id_from(parameters["process_id"]),
            group=str(parameters["group"]),
            argv=_argv(parameters["argv"]),
            cwd=str(parameters["cwd"]),
            env={str(name): str(value) for name, value in parameters["env"].items()},
            stdin=stdin
            and Stdin(
                data=base64.b64decode(stdin["data"], validate=True),
                keep_open=bool(stdin["keep_open"]),
            ),
            tty=tty and terminal_from(tty),
            timeout_ms=_milliseconds(parameters["timeout_ms"]),
            orphan_grace_ms=_milliseconds(parameters["orphan_grace_ms"]),
            output_limit_bytes=int(parameters.get("output_limit_bytes") or DEFAULT_LIMIT_BYTES),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"dispatch: {error!r}") from error


def terminal_from(size: Mapping[str, Any]) -> Terminal:
    """Return the size of a terminal; raise ValueError if the system has none such."""
    rows, cols = int(size["rows"]), int(size["cols"])
    if not (0 < rows < 2**16 and 0 < cols < 2**16):
        raise ValueError(f"no terminal has {rows} rows and {cols} columns")
    return Terminal(rows=rows, cols=cols)


def id_from(value: object) -> str:
    """Return an id; it becomes the name of a file, so it may hold no path. Raises ValueError."""
    text = str(value)
    if not text or "/" in text or "\0" in text or text.startswith("."):
        raise ValueError(f"{text!r} is no id")
    return text


def _argv(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        raise ValueError("argv is no list that begins with a program")
    return tuple(map(str, value))


def _milliseconds(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number of milliseconds")
    return value
