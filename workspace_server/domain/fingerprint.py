"""The fingerprint of a request: what makes two calls the same logical request."""

import hashlib
from collections.abc import Mapping

from workspace_server.domain.json_value import JsonValue, canonical_json

# How a call is labelled and answered is no part of what it asks for: a retry may wait longer. The
# workspace_id is one client's name for the root.
NOT_PART = ("operation_key", "work_id", "workspace_id", "wait_ms", "output_bytes")


def fingerprint(tool: str, workspace_root: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return the SHA-256 of the canonical request, of what the call is to do.

    Absent arguments are left out.
    """
    asked = {
        name: value
        for name, value in arguments.items()
        if name not in NOT_PART and value is not None
    }
    request: dict[str, JsonValue] = {"tool": tool, "root": workspace_root, "arguments": asked}
    canonical = canonical_json(request).encode("utf-8", "surrogatepass")
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"
