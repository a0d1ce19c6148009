"""Run the command line: python -m workspace_server."""

import sys

from workspace_server.cli import main

sys.exit(main())
