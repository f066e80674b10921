# SPDX-License-Identifier: GPL-2.0-or-later
"""Host, generator and followed lines together, with a simulated target in place of a guest."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolab.scope import parts as scopeparts
from isolab.scope.generator import Generator
from isolab.scope.host import Host
from isolab.scope.parts import Bench, Size
from isolator_scope.chain import PLAIN
from scope_virtual import build

# Long enough that a host that takes the CPU for half a second leaves some answers.
SIZE = Size(200, 0.5, 400, 400, 50, 50, 400, 1)
HZ = 200.0


class Guest:
    """What parts want of one."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator

    def mechanisms(self) -> set[str]:
        return {"irq", "user"}

    def counts(self, kind: str) -> dict[str, int]:
        return {}

    def begin_generator(self) -> None:
        self.generator.begin()


@pytest.fixture(name="programs", scope="module")
def _programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scope")
    build(made)
    return made


@pytest.fixture(name="generator")
def _generator(programs: Path, tmp_path: Path) -> Iterator[Generator]:
    made = Generator(
        programs / "generator", tmp_path / "lines", tmp_path / "log", 0, "127.0.0.1:0", rounds=50
    )
    made.begin()
    yield made
    made.end()


@pytest.mark.parametrize(("arguments", "honest"), [((), True), (("--false", "2"), False)])
def test_an_answer_to_another_trigger_is_seen(
    programs: Path, tmp_path: Path, generator: Generator, arguments: tuple[str, ...], honest: bool
) -> None:
    """A target that answers twice, and for triggers that have not been, is told from one that
    does neither; the account holds for both, also with a generator that began anew."""
    target: list[str | Path] = [programs / "target", "--socket", generator.socket, *arguments]
    lines = ["--line", "irq,20,0,2", "--line", "user,300,0,5"]
    with subprocess.Popen([*target, *lines], stdout=subprocess.DEVNULL) as other:
        try:
            with Host(generator.address, tmp_path / "host.scope") as host:
                bench = Bench(Guest(generator), host, PLAIN, 1, SIZE)  # type: ignore[arg-type]
                bench.offered()
                run = bench.measured("steady", SIZE.half, HZ)
                assert len(run) == SIZE.half and set(run.ns) == {0, 1}
                scopeparts.killed(bench, HZ)
        finally:
            other.terminate()
    attributed = [claim for claim in bench.claims if "sequence" in claim.claim]
    others = [claim for claim in bench.claims if claim not in attributed]
    assert {claim.part for claim in attributed} == {"steady", "killed"}
    assert all(claim.held == honest for claim in attributed), attributed
    assert others and all(claim.held for claim in others), others
