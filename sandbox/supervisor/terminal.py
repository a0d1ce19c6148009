"""Starting a program on a terminal of its own."""

import errno
import fcntl
import os
import struct
import termios
from collections.abc import Mapping

from ptyprocess import PtyProcess

from sandbox.supervisor.order import Order, Terminal


def spawn_on_terminal(
    order: Order, program: str, environment: Mapping[str, str]
) -> tuple[int, int]:
    """Return the pid, and our end of the terminal; raise OSError if the program cannot run."""
    assert order.tty is not None
    if not os.access(program, os.X_OK) or not os.path.isfile(program):
        raise PermissionError(errno.EACCES, "not executable", program)
    started = PtyProcess.spawn(
        [program, *order.argv[1:]],
        env=dict(environment),
        dimensions=(order.tty.rows, order.tty.cols),
        # In the child, where a failure is reported; ptyprocess's own cwd would go on as us.
        preexec_fn=lambda: os.chdir(order.cwd),
    )
    ours = os.dup(started.fd)
    started.fileobj.close()
    started.closed = True  # or its end of life would signal and wait by pid
    return started.pid, ours


def resize(descriptor: int, size: Terminal) -> None:
    """Set the size of a terminal; its program gets SIGWINCH."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))


def end_of_input(descriptor: int) -> bytes:
    """Return the character that ends the input of a terminal: usually Ctrl-D."""
    character = termios.tcgetattr(descriptor)[6][termios.VEOF]
    return character if isinstance(character, bytes) else b"\x04"
