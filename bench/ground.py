"""The folder a subject works in: the same files for each, and the truth on disk."""

from dataclasses import dataclass
from pathlib import Path

READ_PATH = "src/ten_kilobytes.txt"
READ_LINE = "{:04} the quick brown fox jumps over the lazy dog, and again\n"
READ_BYTES = 10_000
EDIT_PATH = "src/edited.py"
EDIT_LINES = 40
EDITED_LINE = EDIT_LINES // 2

OUTPUT_BYTES = 1_000_000
LAST_LINE = "that was all of it"
OUTPUT_SCRIPT = (
    f"yes 'a line of output, one of very many' | head -c {OUTPUT_BYTES}; echo; echo '{LAST_LINE}'"
)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One line of one file, replaced."""

    path: str
    line_above: str
    old_line: str
    new_line: str


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A subject's own folder: `root` is the workspace, `state` is for the server's records."""

    folder: Path

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.folder / "root"

    @property
    def state(self) -> Path:
        """Where the server may keep what it likes, on the same disk."""
        return self.folder / "state"

    @property
    def log(self) -> Path:
        """What the server wrote to stderr."""
        return self.folder / "stderr.log"

    def prepare(self) -> None:
        """Create the files."""
        (self.root / "src").mkdir(parents=True)
        lines = "".join(map(READ_LINE.format, range(READ_BYTES // len(READ_LINE.format(0)) + 1)))
        (self.root / READ_PATH).write_text(lines[:READ_BYTES], encoding="utf-8")
        (self.root / EDIT_PATH).write_text(edited_text(0), encoding="utf-8")

    def read_text(self, path: str) -> str:
        """Return what is on disk."""
        return (self.root / path).read_text(encoding="utf-8")


def edited_text(turn: int) -> str:
    """Return the whole content of the edited file after the edit of `turn`."""
    lines = [f"value_{number} = 0\n" for number in range(EDIT_LINES)]
    lines[EDITED_LINE] = f"value_{EDITED_LINE} = {turn}\n"
    return "".join(lines)


def edit_of(turn: int) -> Edit:
    """Return the edit that leads from the text of the turn before to that of `turn`."""
    return Edit(
        path=EDIT_PATH,
        line_above=f"value_{EDITED_LINE - 1} = 0",
        old_line=f"value_{EDITED_LINE} = {turn - 1}",
        new_line=f"value_{EDITED_LINE} = {turn}",
    )
