"""The server, made to die before the N-th durable step after its first apply_patch has come in.

python -m tests.support.dying_server N serve ROOT …
"""

import sys

from tests.support.crash import die_before_step
from workspace_server import app
from workspace_server.cli import main
from workspace_server.domain.json_value import JsonObject
from workspace_server.gateway import Gateway
from workspace_server.tools.results import Reply
from workspace_server.tools.tool import Caller


class _Dying(Gateway):
    armed = False

    async def call(self, caller: Caller, name: str, raw: JsonObject) -> Reply:
        if name == "apply_patch" and not self.armed:
            self.armed = True
            die_before_step(int(sys.argv[1]))
        return await super().call(caller, name, raw)


if __name__ == "__main__":
    setattr(app, "Gateway", _Dying)  # noqa: B010 - what mypy takes for a constant
    sys.exit(main(sys.argv[2:]))
