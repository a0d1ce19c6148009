"""Run the command line: python -m workspace_server, or the installed command."""

import gc
import sys

# What is imported stays for ever: looking for garbage among it is time lost at every start.
# `serve` turns it on again when all that is needed is there; the other commands end soon.
gc.disable()

from workspace_server.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
