"""Starting a program on a terminal of its own."""

import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Mapping
from functools import partial

from ptyprocess import PtyProcess

from sandbox.supervisor.order import Order, Terminal


def spawn_on_terminal(
    order: Order, program: str, folder: int, environment: Mapping[str, str]
) -> tuple[int, int]:
    """Return the pid, and our end of the terminal; raise OSError if the program cannot run.

    `folder` is a descriptor of its working folder.
    """
    assert order.tty is not None
    if not os.access(program, os.X_OK) or not os.path.isfile(program):
        raise PermissionError(errno.EACCES, "not executable", program)
    started = PtyProcess.spawn(
        [program, *order.argv[1:]],
        env=dict(environment),
        dimensions=(order.tty.rows, order.tty.cols),
        preexec_fn=partial(_prepare, folder),
        pass_fds=(folder,),
    )
    ours = os.dup(started.fd)
    started.fileobj.close()
    started.closed = True  # or its end of life would signal and wait by pid
    return started.pid, ours


def _prepare(folder: int) -> None:
    """Do in the child what is left to do; ptyprocess reports a failure of it."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    os.fchdir(folder)  # ptyprocess's own way would, if it failed, go on as a second supervisor


def resize(descriptor: int, size: Terminal) -> None:
    """Set the size of a terminal; its program gets SIGWINCH."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))


def end_of_input(descriptor: int) -> bytes:
    """Return the character that ends the input of a terminal: usually Ctrl-D."""
    character = termios.tcgetattr(descriptor)[6][termios.VEOF]
    return character if isinstance(character, bytes) else b"\x04"
