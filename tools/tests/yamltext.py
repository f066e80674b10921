# SPDX-License-Identifier: GPL-2.0-or-later
"""YAML, read by Debian's parser."""

import json
import subprocess
from typing import Any

# By Debian's Python: the parser is not among the project's own tools.
READ = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"


def parsed(text: str) -> dict[str, Any]:
    """One document of YAML."""
    done = subprocess.run(["/usr/bin/python3", "-c", READ], input=text, text=True, check=True,
                          stdout=subprocess.PIPE)
    document: dict[str, Any] = json.loads(done.stdout)
    return document
