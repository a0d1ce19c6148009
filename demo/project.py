"""The project the agent works on: a release of click, from the package index, under git."""

import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from demo.narrator import Deviation

RELEASE = "click==8.5.1"  # pinned: the patches of the story are made for its text
QUIETLY = ("--quiet", "--quiet", "--disable-pip-version-check")
CHANGE_SECONDS = 10.0
LOOK_SECONDS = 0.001


class Project:
    """A folder with the sources and tests of a release, and one commit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = folder / "click"

    def download(self) -> int:
        """Fetch and unpack the source release; return its size in bytes."""
        sdist = ["--no-binary", ":all:", "--no-deps", "--dest", str(self._folder), RELEASE]
        run([sys.executable, "-m", "pip", "download", *QUIETLY, *sdist], self._folder)
        (archive,) = self._folder.glob("*.tar.gz")
        unpacked = self._folder / "unpacked"
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        (top,) = unpacked.iterdir()
        top.rename(self.root)
        return archive.stat().st_size

    def commit(self) -> None:
        """Put it under git."""
        ours = ["user.name=Demo", "user.email=demo@example.com", "commit.gpgSign=false"]
        settings = [word for setting in ours for word in ("-c", setting)]
        run(["git", "init", "--quiet"], self.root)
        run(["git", "add", "--all"], self.root)
        run(["git", *settings, "commit", "--quiet", "--message", RELEASE], self.root)

    def text(self, path: str) -> str:
        """Return what is on disk."""
        return (self.root / path).read_text(encoding="utf-8")

    def wait_text(self, path: str, part: str) -> None:
        """Block until a file on disk holds `part`; raise Deviation if it never does."""
        deadline = time.monotonic() + CHANGE_SECONDS
        while part not in self.text(path):
            if time.monotonic() > deadline:
                raise Deviation(f"{path}: expected {part!r} within {CHANGE_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)

    def append(self, path: str, text: str) -> None:
        """Change a file behind the agent's back, as an editor would."""
        with (self.root / path).open("a", encoding="utf-8") as stream:
            stream.write(text)


def run(command: list[str], folder: Path) -> None:
    """Run a program of this system; raise CalledProcessError if it fails."""
    path = shutil.which(command[0])
    assert path is not None, f"{command[0]} is needed"
    subprocess.run([path, *command[1:]], cwd=folder, check=True, stdout=subprocess.DEVNULL)
