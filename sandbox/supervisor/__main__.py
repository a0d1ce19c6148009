"""The supervisor's process: python -m sandbox.supervisor FOLDER."""

import argparse
import fcntl
import os
import signal
import sys
from pathlib import Path

from sandbox.supervisor.adoption import become_subreaper
from sandbox.supervisor.archive import Archive
from sandbox.supervisor.clients import Clients
from sandbox.supervisor.loop import READ, Loop, Timer
from sandbox.supervisor.service import Service
from sandbox.supervisor.view import View

STOP_POLL_SECONDS = 0.02


class Supervisor:
    """Puts the parts together, and ends when nobody needs it or it is told to."""

    def __init__(self, folder: Path, idle_exit_seconds: float) -> None:
        self._loop = Loop()
        self._idle_exit_seconds = idle_exit_seconds
        self._idle: Timer | None = None
        archive = Archive(folder)
        archive.settle()
        self._service = Service(self._loop, archive, self._tell)
        self._clients = Clients(self._loop, folder, handle=self._handle, present=self._clients_are)
        self._watch_signals()
        self._clients_are(False)

    def run(self) -> None:
        """Serve until idle or stopped."""
        self._clients.listen()
        self._loop.run()
        self._clients.close()

    def _handle(self, method: str, parameters: dict[str, object]) -> View:
        if method == "stop":
            self._clients.stop_listening()  # before the reply: who then comes meets the next one
            self._loop.after(0, self._stop)
        return self._service.handle(method, parameters)

    def _tell(self, view: View) -> None:
        self._clients.tell(view)

    def _clients_are(self, present: bool) -> None:
        self._service.clients_are(present)
        if self._idle is not None:
            self._idle.cancel()
        if not present:
            self._idle = self._loop.after(self._idle_exit_seconds, self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        if self._clients.any_connected:
            return
        if not self._service.is_idle:
            self._idle = self._loop.after(self._idle_exit_seconds, self._leave_if_idle)
            return
        if self._clients.stop_listening():  # one had come at the last moment
            self._clients.listen()
        else:
            self._loop.stop()

    def _stop(self) -> None:
        """End everything, then this process."""
        self._clients.stop_listening()
        self._service.end_all("the supervisor was stopped")
        self._leave_when_all_ended()

    def _leave_when_all_ended(self) -> None:
        if self._service.is_idle or not self._service.is_ending:
            self._loop.stop()
        else:
            self._loop.after(STOP_POLL_SECONDS, self._leave_when_all_ended)

    def _watch_signals(self) -> None:
        """Hear of signals between callbacks, never within one."""
        heard, hear = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(hear, warn_on_full_buffer=False)
        # SIGINT and SIGHUP are heard and not heeded. They are not ignored: commands would inherit
        # that, and then nothing could interrupt them.
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, frame: None)
        self._loop.watch(heard, READ, lambda: self._signalled(os.read(heard, 512)))

    def _signalled(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers:
            self._stop()
        if signal.SIGCHLD in numbers:
            self._service.child_ended()


def _reset_signals() -> None:
    """Forget what was ignored or blocked where we were started: commands would inherit it."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python's own
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main() -> int:
    """Serve one folder; leave at once if another supervisor does."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.supervisor", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--idle-exit-seconds", type=float, default=60.0)
    options = parser.parse_args()
    options.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(options.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    become_subreaper()
    _reset_signals()
    Supervisor(options.folder, options.idle_exit_seconds).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
