"""Ends what a test's server left running."""

import json
import os
import socket
from pathlib import Path


def stop_supervisor(state: Path) -> None:
    """Have the supervisor of a state folder end all it runs, and itself; fine if none is there."""
    folder = state / "supervisor"
    if not (folder / "socket").exists():
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(f"/proc/self/fd/{descriptor}/socket")
            connection.sendall(
                json.dumps({"id": 1, "method": "stop", "params": {}}).encode() + b"\n"
            )
            while connection.recv(65536):
                pass
    except OSError:
        return
    finally:
        os.close(descriptor)
