# SPDX-License-Identifier: GPL-2.0-or-later
"""The step runner counts what steps say, and never takes silence for success."""

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import child
import jsonschema
import pytest
import steps
from processes import gone
from steps import Step, run_steps, select, tally
from waiting import PATIENCE_S, until

SCHEMA = json.loads((steps.ROOT / "tools/schemas/isolator-steps.json").read_text())


def step(count: str = "exit", command: str = "true", **more: object) -> Step:
    """A step that runs a shell command."""
    return Step("example", "an example", ["sh", "-c", command], "test", count=count,
                **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "code", "lines", "expected"),
    [
        ("exit", 0, [], (1, 0, 0)),
        ("exit", 1, [], (0, 1, 0)),
        ("exit", 77, [], (0, 0, 1)),
        ("line", 0, ["3 passed, 0 failed"], (3, 0, 0)),
        ("line", 2, ["3 passed, 1 failed, 2 skipped"], (3, 1, 2)),
        ("line", 0, ["3 passed, 0 failed, and more"], (0, 1, 0)),
        ("line", 0, [], (0, 1, 0)),
        ("line", 77, ["skipped: no QEMU"], (0, 0, 1)),
        # All of it was skipped, or that was not why it ended so.
        ("line", 77, ["0 passed, 0 failed, 2 skipped"], (0, 0, 2)),
        ("line", 77, ["3 passed, 0 failed, 2 skipped"], (3, 1, 2)),
        ("line", 1, ["3 passed, 0 failed"], (3, 1, 0)),
        ("tap", 0, ["ok 1 - a", "ok 2 - b # SKIP no spin", "1..2"], (1, 0, 1)),
        ("tap", 1, ["not ok 1 - a", "ok 2 - b", "1..2"], (1, 1, 0)),
        ("tap", 0, ["1..3", "ok 1 - a"], (1, 2, 0)),
        ("tap", 0, ["okay, nothing ran"], (0, 1, 0)),
    ],
)
def test_tally(count: str, code: int, lines: list[str], expected: tuple[int, int, int]) -> None:
    """Each way of counting, and each way of lying to it."""
    result = tally(step(count), code, lines)
    assert (result.passed, result.failed, result.skipped) == expected


def test_a_needed_step_is_not_skipped() -> None:
    """Where nothing of it ran; a part of it may be."""
    for code, lines, failed in ((77, ["no QEMU"], 1), (77, ["0 passed, 0 failed, 2 skipped"], 1),
                                (0, ["1 passed, 0 failed, 2 skipped"], 0)):
        assert tally(step("line", needed=True), code, lines).failed == failed


def test_junit_of_an_earlier_run(results: Path) -> None:
    """A step that writes none, or not to its end, has passed nothing."""
    report = steps.ROOT / "build/report.xml"
    for command in ("true", "echo '<testsuites><testcase ' >build/report.xml"):
        report.parent.mkdir(exist_ok=True)
        report.write_text("<testsuites><testcase name='a'/></testsuites>")
        code, text = run([step("junit", command, junit="build/report.xml")], results)
        assert code == 1 and text.splitlines()[-1] == "0 passed, 1 failed"


def test_junit(tmp_path: Path) -> None:
    """JUnit: failures, errors and skips are told apart; no file is a failure."""
    report = tmp_path / "report.xml"
    report.write_text("<testsuites><testsuite><testcase name='a'/>"
                      "<testcase name='b'><failure/></testcase>"
                      "<testcase name='c'><error/></testcase>"
                      "<testcase name='d'><skipped/></testcase></testsuite></testsuites>")
    result = tally(step("junit", junit=str(report)), 1, [])
    assert (result.passed, result.failed, result.skipped) == (1, 2, 1)
    report.unlink()
    assert tally(step("junit", junit=str(report)), 0, []).failed == 1


def run(todo: list[Step], path: Path, **more: object) -> tuple[int, str]:
    """Run steps with results below `path`, inside the tree that logs are named from."""
    out = io.StringIO()
    code = run_steps(todo, path, 1.0, out=out, **more)  # type: ignore[arg-type]
    return code, out.getvalue()


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A results directory in a tree of its own."""
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    return tmp_path / "out"


def test_failure_does_not_stop_the_others(results: Path) -> None:
    """The step after a failing one runs; the closing line and the file say both."""
    todo = [Step("bad", "", ["false"], "t"), Step("good", "", ["true"], "t")]
    code, text = run(todo, results)
    assert code == 1
    assert text.splitlines()[-1] == "1 passed, 1 failed"
    document = json.loads((results / "result.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert [entry["failed"] for entry in document["steps"]] == [1, 0]


def shown(results: Path, script: str) -> list[str]:
    """What is printed of the log of a step that failed."""
    _, text = run([Step("bad", "", ["sh", "-c", f"{script}; exit 1"], "t")], results)
    first = text[:text.index("passed in guests: ")]
    return [line[10:] for line in first.splitlines() if line.startswith("        | ")]


@pytest.mark.parametrize(("count", "script", "names"), [
    ("tap", "echo not ok 1 - a; echo ok 2 - b; echo 1..2", ["not ok 1 - a"]),
    ("line", r"printf '\033[31mdoes not hold: x: 9 of 39\033[0m\n3 passed, 1 failed\n'",
     ["does not hold: x: 9 of 39"]),
    ("line", "seq -f 'failed: %g on b' 30; echo 0 passed, 30 failed",
     [f"failed: {n} on b" for n in range(1, 21)]),
    ("line", "echo 3 passed, 0 failed; echo inconclusive: a: 2 boots ended",
     ["inconclusive: a: 2 boots ended"]),
    ("exit", "echo why", []),
    ("junit", """echo "<t><testcase classname='a.b' name='c'><failure message='x is y&#10;and'/>
</testcase><testcase name='d'><error/></testcase><testcase name='e'/></t>" >a.xml""",
     ["a.b::c: x is y", "d"]),
])
def test_what_failed_is_named_again_at_the_end(results: Path, count: str, script: str,
                                               names: list[str]) -> None:
    """Of a long output somebody may have the end only."""
    todo = [Step("good", "", ["true"], "t"),
            Step("bad", "", ["sh", "-c", f"{script}; exit 1"], "t", count=count, junit="a.xml"),
            Step("last", "", ["true"], "t")]
    _, text = run(todo, results)
    end = text[text.index("passed in guests: "):].splitlines()[1:]
    assert end[0].startswith("FAILED  bad ")
    assert [line[10:] for line in end[1:-1]] == names
    document = json.loads((results / "result.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert document["steps"][1]["broken"] == names


def test_recap_comes_first(results: Path) -> None:
    """Who sees only the beginning sees what failed; without a recap it is the log's end."""
    noise = f"seq {2 * steps.FAILED_LINES}"
    assert shown(results, f"{noise}; echo 'not failed: 0'; echo; echo 'failed: a on b'; "
                 "echo '  why'; echo; echo 'failed: c on b'; echo 1 passed, 2 failed") == [
        "failed: a on b", "  why", "", "failed: c on b", "1 passed, 2 failed"]
    long = shown(results, f"{noise}; echo failed: a on b; {noise}")
    assert long == ["failed: a on b", *(str(n) for n in range(1, steps.FAILED_LINES))]
    assert shown(results, noise) == [str(n + 1) for n in range(2 * steps.FAILED_LINES)][
        -steps.FAILED_LINES:]


def test_command_that_does_not_exist(results: Path) -> None:
    """A missing command is a failure of that step, not of the runner."""
    code, text = run([Step("lost", "", ["./no-such-command"], "t")], results)
    assert code == 1
    assert text.splitlines()[-1] == "0 passed, 1 failed"


def test_time_limit_ends_the_whole_group(results: Path) -> None:
    """A step beyond its time is ended with its children, and failed."""
    child = results.parent / "child"
    # One that does not heed SIGTERM outlives who began it.
    slow = Step("slow", "", [
        "sh", "-c", f"sh -c 'trap \"\" TERM; echo $$ >{child}; sleep 300; sleep 300' & wait"], "t",
        minutes=0.25)
    code, text = run([slow], results)
    assert code == 1
    assert "stopped after" in text
    assert gone(int(child.read_text()), PATIENCE_S), "the child survived"


def test_what_a_step_computed(results: Path) -> None:
    """Its children's time counts; waiting does not."""
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    todo = [Step("busy", "", ["sh", "-c", f"{sys.executable} -c '{burn}'; true"], "t"),
            Step("idle", "", ["sleep", "0.5"], "t")]
    run(todo, results)
    busy, idle = json.loads((results / "result.json").read_text())["steps"]
    assert busy["cpu_s"] >= 0.5 > 0.2 > idle["cpu_s"] and idle["seconds"] >= 0.5


def test_the_commit_is_kept(results: Path) -> None:
    """As git names it, with a mark where the tree differs from it; none without a repository."""
    def commit() -> str:
        run([Step("one", "", ["true"], "t")], results)
        document = json.loads((results / "result.json").read_text())
        jsonschema.validate(document, SCHEMA)
        return str(document["steps"][0]["commit"])

    tree = results.parent
    assert commit() == ""
    git = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tree / ".gitignore").write_text("/out\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    clean = commit()
    (tree / "new").touch()
    assert clean and commit() == clean + "+"


def test_campaign_goes_on_where_it_ended(results: Path) -> None:
    """Passed steps are not run twice; failed ones are."""
    state = results / "state.json"
    log = results.parent / "ran"
    todo = [Step("one", "", ["sh", "-c", f"echo one >> {log}"], "t"),
            Step("two", "", ["sh", "-c", f"echo two >> {log}; test -e {log}.fixed"], "t")]
    assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 1
    log.with_name("ran.fixed").touch()
    assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 0
    assert log.read_text().split() == ["one", "two", "two"]
    document = json.loads(state.read_text())
    jsonschema.validate(document, SCHEMA)
    state.write_text(json.dumps({**document, "version": steps.VERSION - 1}))
    assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 0
    assert log.read_text().split() == ["one", "two", "two", "one", "two"]


def test_campaign_keeps_what_another_sitting_says(results: Path) -> None:
    """Two at once share a state: none forgets the other's step, which ended meanwhile."""
    state = results / "state.json"
    other = json.dumps({"schema": "isolator-steps", "version": steps.VERSION,
                        "steps": [asdict(steps.Result("theirs", 3))]})
    todo = [Step("ours", "", ["sh", "-c", f"printf %s '{other}' > {state}"], "t")]
    assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 0
    assert list(steps.load_done(state)) == ["theirs", "ours"]


def test_sittings_at_once_lose_no_step(results: Path) -> None:
    state = results / "state.json"
    say = ("import sys; sys.path.insert(0, sys.argv[1]); import steps; from pathlib import Path\n"
           "state, name = Path(sys.argv[2]), sys.argv[3]\n"
           "for i in range(40): steps.add(state, steps.Result(name + str(i), 1))")
    sittings = [subprocess.Popen([sys.executable, "-c", say, Path(steps.__file__).parent, state,
                                  name]) for name in ("a", "b", "c")]
    assert not any(sitting.wait(60) for sitting in sittings)
    assert len(steps.load_done(state)) == 120


def test_campaign_takes_no_skip_for_done(results: Path) -> None:
    """What a step lacked may be there in the next run; one that skipped a part has passed."""
    state = results / "state.json"
    log = results.parent / "ran"
    part = Step("part", "", ["sh", "-c", f"echo part >> {log}; echo 1 passed, 0 failed, 1 skipped"],
                "t", count="line")
    todo = [Step("all", "", ["sh", "-c", f"echo all >> {log}; exit 77"], "t"), part]
    for ran in (["all", "part"], ["all", "part", "all"]):
        assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 0
        assert log.read_text().split() == ran


def test_campaign_reports_what_is_done(tmp_path: Path) -> None:
    """Of a tree of its own: what has run with its commit, what has not by its name."""
    program = ("import runpy, sys; from pathlib import Path\n"
               f"sys.path.insert(0, {str(steps.ROOT / 'tools')!r}); import steps\n"
               f"steps.ROOT = Path({str(tmp_path)!r}); sys.argv = ['campaign', '--report']\n"
               f"runpy.run_path({str(steps.ROOT / 'tools/campaign')!r}, run_name='__main__')\n")
    state = tmp_path / "build/campaign/state.json"
    steps.save(state, [steps.Result("matrix", 750, 0, 6, 5400.0, 9000.0, group="guest",
                                    commit="abc1234", ended="2026-01-02T03:04:05+00:00")])
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True).stdout
    assert ("| matrix | 750 passed, 0 failed, 6 skipped | 90 | abc1234 "
            "| 2026-01-02T03:04:05+00:00 |") in said.splitlines()
    assert "Not run: " in said and "kasan" in said.splitlines()[-1]


def test_campaign_begins_nothing_without_time(results: Path) -> None:
    """With no time left a step waits for the next run; it does not fail."""
    out = io.StringIO()
    code = run_steps([Step("later", "", ["true"], "t")], results, 0.0,
                     state=results / "state.json", out=out)
    assert code == 3
    assert "run the same command again" in out.getvalue()
    assert not (results / "transcript.txt").exists()


def test_steps_are_chosen_by_name_and_group() -> None:
    """In the order of the list; a name that is none is an error."""
    one, two, three = todo = [Step(name, "", [], group)
                              for name, group in (("one", "a"), ("two", "b"), ("three", "b"))]
    assert select(todo, [], "check") == todo
    assert select(todo, ["three", "one"], "check") == [one, three]
    assert select(todo, ["one"], "check", ["b"]) == [one, two, three]
    assert select(todo, [], "check", ["a"]) == [one]
    with pytest.raises(SystemExit, match="campaign: no step four; see tools/campaign --list"):
        select(todo, ["two", "four"], "campaign")


@pytest.mark.parametrize(("tool", "column"), [("check", 1), ("campaign", 0)])
def test_each_step_has_a_name_of_its_own(tool: str, column: int) -> None:
    """Logs are kept, and steps that passed remembered, by it."""
    listed = subprocess.run([steps.ROOT / "tools" / tool, "--list"], capture_output=True,
                            text=True, check=True).stdout.splitlines()
    names = [line.split()[column] for line in listed]
    assert len(names) > 10 and len(set(names)) == len(names)


def test_a_signal_as_a_step_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                   request: pytest.FixtureRequest) -> None:
    """Also before the runner knows the process: it is ended."""
    started = subprocess.Popen

    def start(*words: object, **how: object) -> subprocess.Popen[bytes]:
        process = started(*words, **how)  # type: ignore[call-overload]
        os.kill(os.getpid(), signal.SIGINT)
        return process

    # A shell that starts this in the background has it ignore the signal.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, earlier))
    monkeypatch.setattr(subprocess, "Popen", start)
    with (tmp_path / "log").open("wb") as sink:
        one = child.Child(["sleep", "60"], tmp_path, os.environ, sink)
        with pytest.raises(KeyboardInterrupt):
            try:
                one.start()
            finally:
                one.end()
    assert one.code == -signal.SIGTERM


def test_sigterm_takes_the_step_along(tmp_path: Path) -> None:
    """A runner that is told to end leaves nothing running."""
    program = (f"import sys; sys.path.insert(0, {str(steps.ROOT / 'tools')!r})\n"
               "import steps; from pathlib import Path\n"
               f"steps.ROOT = Path({str(tmp_path)!r}); steps.end_on_sigterm()\n"
               "step = steps.Step('s', '', ['sh', '-c', 'echo $$ up; sleep 600'], 't')\n"
               f"steps.run_steps([step], Path({str(tmp_path)!r}) / 'out', 1.0)\n")
    runner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    log = tmp_path / "out/s.log"
    until(lambda: log.is_file() and " up\n" in log.read_text(), runner.poll)
    runner.terminate()
    assert runner.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    assert gone(int(log.read_text().split(" up\n")[0].split()[-1]), PATIENCE_S)
