# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/mutants: what it plants can be planted, and what it says follows from what came of it."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import script
from processes import gone
from waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(name="mutants", scope="module")
def _mutants() -> ModuleType:
    return script.load("mutants")


def test_each_can_be_planted(mutants: ModuleType) -> None:
    """Whoever changes a line that one replaces changes the mutant too, or takes it out."""
    found = mutants.read()
    assert mutants.wrong(found) == []
    assert len(found) >= 60
    assert {m.suite for m in found} >= {"lab", "lib", "cli"}
    for m in found:
        assert all((ROOT / name.partition("::")[0]).is_file() for name in m.pytest), m.name


def _mutant(mutants: ModuleType, **more: Any) -> Any:
    values = {"name": "a", "file": "tools/mutants", "before": "def read()", "after": "def write()",
              "pytest": ("tools/tests/test_mutants.py",)}
    return mutants.Mutant(**{**values, **more})


def test_one_that_says_nothing_is_an_error(mutants: ModuleType) -> None:
    good = _mutant(mutants)
    assert mutants.wrong([good]) == []
    for bad in ({"before": "no such text"}, {"before": "import"}, {"file": "no/such/file"},
                {"after": "def read()"}, {"pytest": ()}):
        assert mutants.wrong([_mutant(mutants, **bad)]), bad
    assert mutants.wrong([good, good])


@pytest.mark.parametrize(
    ("said", "lives", "bad"),
    [("died", "", False), ("lived", "", True), ("lived", "equal to what it replaces", False),
     ("died", "equal to what it replaces", True), ("broken: it does not compile", "", True)],
)
def test_verdict(mutants: ModuleType, said: str, lives: str, bad: bool) -> None:
    others = [_mutant(mutants, name=f"m{i}") for i in range(60)]
    results = {m.name: "died" for m in others} | {"a": said}
    assert bool(mutants.judge([*others, _mutant(mutants, lives=lives)], results)) == bad


def test_enough_have_to_die(mutants: ModuleType) -> None:
    """Reasons for living are not for the many."""
    for alive, texts in ((5, []), (6, ["only 94 of 100 die, less than 95 %"])):
        those = [_mutant(mutants, name=f"m{i}", lives="x" if i < alive else "")
                 for i in range(100)]
        results = {m.name: "lived" if m.lives else "died" for m in those}
        assert mutants.judge(those, results) == texts


def test_a_result_is_forgotten_with_what_it_depends_on(
    mutants: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.py").write_text("a = 1\n")
    (tmp_path / "x/test_a.py").write_text("assert a\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)

    def key(**more: Any) -> str:
        values = {"file": "x/a.py", "before": "1", "after": "0", "pytest": ("x/test_a.py",)}
        return str(_mutant(mutants, **{**values, **more}).key())

    before = key()
    assert key() == before and key(after="2") != before
    (tmp_path / "x/test_a.py").write_text("assert a == 1\n")
    assert key() != before
    before = key()
    (tmp_path / "x/test_b.py").write_text("another test\n")
    assert key() == before
    (tmp_path / "x/helper.py").write_text("what both share\n")
    assert key() != before
    before = key(meson=("t",))
    (tmp_path / "x/tests").mkdir()
    for name in ("t.c", "t.h", "meson.build"):
        (tmp_path / "x/tests" / name).write_text("int main;\n")
        assert key(meson=("t",)) != before
        before = key(meson=("t",))
    before = key()
    (tmp_path / "x/a.py").write_text("a = 1 # one\n")
    assert key() != before


def test_a_fault_is_planted_and_taken_back(
    mutants: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/venv").write_text("#!/bin/sh\ngrep -q 'a = 1' a.py\n")
    (tmp_path / "tools/venv").chmod(0o755)
    (tmp_path / "a.py").write_text("a = 1; b = 2\n")
    monkeypatch.setattr(mutants, "TREE", tmp_path)
    for before, after, said in (("a = 1", "a = 2", "died"), ("b = 2", "b = 3", "lived")):
        one = _mutant(mutants, file="a.py", before=before, after=after)
        assert mutants.planted(one) == said
        assert (tmp_path / "a.py").read_text() == "a = 1; b = 2\n"
    one = _mutant(mutants, file="a.py", before="a", after="b")
    # No test could be collected (2), found (5), or asked for so (4).
    for code in (2, 4, 5, 77):
        (tmp_path / "tools/venv").write_text(f"#!/bin/sh\nexit {code}\n")
        assert mutants.planted(one).startswith("broken")
    pid = tmp_path / "pid"
    (tmp_path / "tools/venv").write_text(f"#!/bin/sh\nsleep 600 & echo $! >{pid}\nwait\n")
    monkeypatch.setattr(mutants, "LIMIT_S", 30.0)
    assert mutants.planted(one).startswith("broken: tools/venv")
    assert gone(int(pid.read_text()), PATIENCE_S)
