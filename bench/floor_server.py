"""The least an MCP server on this SDK can be: one tool on stdio, nothing recorded."""

import sys
from pathlib import Path

from mcp.server import MCPServer


def floor_server(root: Path) -> MCPServer:
    """Return a server with the one tool `read`, for text files beneath `root`."""
    server: MCPServer = MCPServer("floor")

    @server.tool()
    def read(path: str) -> str:
        """Return the text of a file."""
        file = (root / path).resolve()
        if not file.is_relative_to(root):
            raise ValueError("outside the root")
        return file.read_text(encoding="utf-8")

    return server


if __name__ == "__main__":
    floor_server(Path(sys.argv[1]).resolve()).run("stdio")
