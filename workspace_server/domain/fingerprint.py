"""The fingerprint of a request: what makes two calls the same logical request."""

import hashlib
from collections.abc import Mapping

from workspace_server.domain.json_value import JsonValue, canonical_json

NOT_PART = ("operation_key", "work_id", "workspace_id")  # labels; the root stands for the workspace


def fingerprint(tool: str, workspace_root: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return the SHA-256 of the canonical request, without key, work and absent arguments."""
    asked = {
        name: value
        for name, value in arguments.items()
        if name not in NOT_PART and value is not None
    }
    request: dict[str, JsonValue] = {"tool": tool, "root": workspace_root, "arguments": asked}
    canonical = canonical_json(request).encode("utf-8", "surrogatepass")
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"
