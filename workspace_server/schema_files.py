"""Writes schemas/: the published schemas as files, made from the models."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workspace_server.config import settings_schema
from workspace_server.tools.catalogue import CATALOGUE
from workspace_server.tools.schemas import failure_schema, input_schema, output_schema


def schema_files() -> Mapping[str, str]:
    """Return the text of each file, by its path below schemas/."""
    schemas: dict[str, dict[str, Any]] = {
        "config.json": settings_schema(),
        "error.json": failure_schema(),
    }
    for tool in CATALOGUE:
        schemas[f"tools/{tool.name}.input.json"] = input_schema(tool)
        schemas[f"tools/{tool.name}.output.json"] = output_schema(tool)
    return {path: f"{json.dumps(schema, indent=2)}\n" for path, schema in schemas.items()}


def main() -> None:
    """Write the files below the folder that is named, and remove those of no schema."""
    folder = Path(sys.argv[1])
    wanted = schema_files()
    for path, text in wanted.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for file in folder.rglob("*.json"):
        if str(file.relative_to(folder)) not in wanted:
            file.unlink()


if __name__ == "__main__":
    main()
