"""All tools, in the order in which they are listed."""

from workspace_server.tools.exec_command import EXEC_COMMAND
from workspace_server.tools.files import FIND, READ
from workspace_server.tools.operations import OPERATION_LIST, OPERATION_STATUS
from workspace_server.tools.patches import APPLY_PATCH
from workspace_server.tools.process_steering import (
    PROCESS_RESIZE,
    TERMINATE_PROCESS,
    WRITE_STDIN,
)
from workspace_server.tools.process_watching import PROCESS_LIST, PROCESS_STATUS, READ_PROCESS
from workspace_server.tools.tool import AnyTool
from workspace_server.tools.workspaces import WORKSPACE_INFO

CORE: tuple[AnyTool, ...] = (
    WORKSPACE_INFO,
    READ,
    FIND,
    APPLY_PATCH,
    OPERATION_STATUS,
    OPERATION_LIST,
    EXEC_COMMAND,
    PROCESS_STATUS,
    READ_PROCESS,
    WRITE_STDIN,
    TERMINATE_PROCESS,
    PROCESS_LIST,
)
TERMINAL: tuple[AnyTool, ...] = (PROCESS_RESIZE,)

CATALOGUE = CORE + TERMINAL
