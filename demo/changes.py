"""The changes the agent makes in the story: a function, a mistake in it, the repair, a note."""

from pathlib import Path

FOLDER = Path(__file__).parent / "patches"

CODE = "src/click/utils.py"
TEST = "tests/test_readable_size.py"
NOTES = "CHANGES.md"

# The mistake is on purpose: a KiB is not 1000 bytes. Its test finds it, and the diff repairs it.
FUNCTION_AND_TEST = (FOLDER / "add_function.v4a").read_text(encoding="utf-8")
REPAIR = (FOLDER / "repair.diff").read_text(encoding="utf-8")
MISTAKE, REPAIRED = "size / 1000", "size / 1024"

NOTE = (FOLDER / "release_note.v4a").read_text(encoding="utf-8")
NOTE_LINE = "- Add `click.utils.readable_size`."
