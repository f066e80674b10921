# SPDX-License-Identifier: GPL-2.0-or-later
"""The dashboard by Grafana's own types, as the server itself is in no package."""

import json
import subprocess
from pathlib import Path

import pytest
from clitest import CLI
from pageparts import page_parts

BOARD = json.loads((CLI / "grafana/isolator.json").read_text())
del BOARD["__comment"]  # the licence: a name that Grafana leaves alone
# An enumeration is written as its text.  What belongs to the data source is in no type of
# Grafana's: the query of an annotation, the text of a variable.
TYPES = """import type { AnnotationQuery, Dashboard, VariableModel } from "@grafana/schema";
type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Board = Omit<Plain<Dashboard>, "annotations" | "templating"> & {
  annotations: { list: (Plain<AnnotationQuery>
    & { expr?: string; titleFormat?: string; textFormat?: string })[] };
  templating: { list: (Plain<VariableModel> & { definition?: string })[] };
};
export const board: Board = """


@pytest.fixture(name="packages", scope="module")
def _packages() -> Path:
    """Where tsc and the types are, from npm."""
    return page_parts("tsc", "--lint")


def complaints(board: object, packages: Path, folder: Path) -> str:
    """What tsc says of a dashboard."""
    (folder / "board.ts").write_text(TYPES + json.dumps(board, indent=1) + ";\n")
    (folder / "node_modules").symlink_to(packages / "node_modules")
    return subprocess.run(
        [packages / "node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module",
         "esnext", "--moduleResolution", "bundler", "--target", "es2023", "board.ts"],
        cwd=folder, stdout=subprocess.PIPE, text=True, check=False).stdout


def test_the_dashboard_is_of_grafanas_types(packages: Path, tmp_path: Path) -> None:
    assert complaints(BOARD, packages, tmp_path) == ""


@pytest.mark.parametrize(("panel", "says"), [
    ({"type": 7}, "Type 'number' is not assignable to type 'string'"),
    ({"fieldConfig": {"defaults": {}}}, "'overrides' is missing"),
    ({"fieldConfig": {"defaults": {"color": {"mode": "tresholds"}}, "overrides": []}}, "tresholds"),
    ({"tittle": "x"}, "tittle"),
])
def test_what_grafana_does_not_know_is_found(panel: dict[str, object], says: str, packages: Path,
                                             tmp_path: Path) -> None:
    found = complaints({**BOARD, "panels": [{**BOARD["panels"][1], **panel}]}, packages, tmp_path)
    assert says in found
