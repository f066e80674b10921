# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of JSON schemas, which refer to what they share with others of their folder."""

import json
from pathlib import Path
from typing import Any

SHARED = "defs.json"
REFERENCE = f'"{SHARED}#/'


def read(path: Path) -> dict[str, Any]:
    """The schema of a file, with those definitions inside: it refers to no other file.

    Each jsonschema takes it so; that of Debian 12 has no registry of files.
    """
    text = path.read_text()
    schema: dict[str, Any] = json.loads(text.replace(REFERENCE, '"#/'))
    if REFERENCE in text:
        shared = json.loads(path.with_name(SHARED).read_text())
        schema["$defs"] = shared["$defs"] | schema.get("$defs", {})
    return schema
