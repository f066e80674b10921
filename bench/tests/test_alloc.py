# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-alloc: its JSON against the schema, its options; none of its figures."""

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from isolator_report import schemafile

TOP = Path(__file__).resolve().parent.parent.parent
PATTERNS = {"pair", "queue", "replace", "burst"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built anew with the library's sources in it."""
    subprocess.run([TOP / "tools/install-packages", "build"], check=True)
    program = tmp_path_factory.mktemp("bench") / "bench-alloc"
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread",
         f"-I{TOP}/lib/include", f"-I{TOP}/kernel/include/uapi", f"-I{TOP}/cli", "-o", program,
         *sorted((TOP / "bench/alloc").glob("*.c")), *sorted((TOP / "lib/src").glob("*.c"))],
        check=True)
    return program


def _run(bench: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([bench, *options], capture_output=True, text=True, timeout=120,
                          check=False)


@pytest.fixture(scope="module")
def plain(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of a run of two rounds, which has said the same in text."""
    file = tmp_path_factory.mktemp("plain") / "alloc.json"
    run = _run(bench, "--rounds", "2", "--operations", "1000", "--json", str(file))
    assert run.returncode == 0, run.stderr
    assert "pattern" in run.stdout
    document: dict[str, Any] = json.loads(file.read_text())
    assert document["rounds"] == 2
    return document


def _look(document: dict[str, Any], allocator: str) -> None:
    jsonschema.validate(document, schemafile.read(TOP / "bench/schema/alloc.json"))
    assert document["operations"] == 1000
    rows = {(row["pattern"], row["bytes"], row["allocator"]) for row in document["results"]}
    assert len(rows) == len(document["results"])
    assert {row[0] for row in rows} == PATTERNS
    assert {row[2] for row in rows} == {"isolator", allocator}
    for row in document["results"]:
        assert row["pair_ns"]["min"] <= row["pair_ns"]["median"] <= row["pair_ns"]["max"]
        for call in ("alloc", "free"):
            assert row[call]["p50_ns"] <= row[call]["p99_ns"] <= row[call]["worst_ns"]
            assert row[call]["worst_of_round_median_ns"] <= row[call]["worst_ns"]


def test_json_fits_the_schema_and_is_complete(plain: dict[str, Any]) -> None:
    _look(plain, "malloc")


def test_the_same_of_a_tuned_malloc(bench: Path) -> None:
    run = _run(bench, "--rounds", "1", "--operations", "1000", "--json", "-", "--tuned")
    assert run.returncode == 0, run.stderr
    _look(json.loads(run.stdout), "malloc-tuned")


def test_the_pool_faults_never(plain: dict[str, Any]) -> None:
    faults = {name: sum(row["page_faults"] for row in plain["results"]
                        if row["allocator"] == name) for name in ("isolator", "malloc")}
    assert faults["isolator"] == 0
    # The same instrument, on what does fault.
    assert faults["malloc"] > 0


@pytest.mark.parametrize(("options", "names"), [
    (["--rounds", "0"], "--rounds needs a number from 1"),
    (["--operations", "many"], "--operations needs a number"),
    (["--cpu", "1023"], "cannot run on CPU 1023"),
    (["--json", "/nonexistent/file"], "/nonexistent/file"),
    (["--what"], "usage:"),
    (["more"], "usage:"),
])
def test_wrong_options_are_refused(bench: Path, options: list[str], names: str) -> None:
    run = _run(bench, *options)
    assert run.returncode == 1
    assert names in run.stderr


def test_help(bench: Path) -> None:
    run = _run(bench, "--help")
    assert run.returncode == 0
    assert "examples:" in run.stdout
    for pattern in PATTERNS:
        assert f"  {pattern} " in run.stdout
