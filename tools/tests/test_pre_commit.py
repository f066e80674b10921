# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks of .pre-commit-config.yaml run commands of this tree, and fetch nothing."""

import os
import re
import shlex
import subprocess

from steps import ROOT
from yamltext import parsed

STAGES = {"pre-commit", "pre-push", "commit-msg"}


def test_hooks() -> None:
    """Each is local, names a program that is there, and a part that tools/lint has."""
    document = parsed((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in document["repos"]] == ["local"]
    hooks = document["repos"][0]["hooks"]
    names = [hook["id"] for hook in hooks]
    assert len(names) == len(set(names)) > 4
    usage = subprocess.run([ROOT / "tools/lint", "--help"], check=True, capture_output=True,
                           text=True).stdout
    parts = set(re.findall(r"[a-z]+", usage.splitlines()[0].split("tools/lint")[1]))
    for hook in hooks:
        program, *words = shlex.split(hook["entry"])
        assert hook["language"] == "system", hook["id"]
        assert os.access(ROOT / program, os.X_OK), f"{hook['id']}: there is no {program}"
        if program == "tools/lint":
            assert words and set(words) <= parts, f"{hook['id']}: {hook['entry']}"
            assert hook["pass_filenames"] is False, hook["id"]
        assert set(hook.get("stages", [])) <= STAGES
        re.compile(hook.get("files", ""))


def test_every_linter_is_a_hook_but_sparse() -> None:
    """Sparse builds a kernel."""
    document = parsed((ROOT / ".pre-commit-config.yaml").read_text())
    entries = {hook["entry"] for hook in document["repos"][0]["hooks"]}
    parts = re.findall(r"^([a-z]+)\)$", (ROOT / "tools/lint").read_text(), re.MULTILINE)
    assert {f"tools/lint {part}" for part in parts} - entries == {"tools/lint sparse"}
