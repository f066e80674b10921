# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolator command: its JSON against the schemas, spans, a terminal, large inputs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clitest import (
    COUNTS,
    FIXTURES,
    NOBODY,
    PATIENCE_S,
    Terminal,
    closed,
    copy_for_all,
    full_tables,
    run,
    swap,
    unpack,
    valid,
    waits,
)
from waiting import until


@pytest.mark.parametrize("fixture", FIXTURES)
@pytest.mark.parametrize("name", ["status", "why"])
def test_schema(isolator: Path, laid_out: Path, name: str, fixture: str) -> None:
    """What is printed is what the schema says."""
    document = run(isolator, name, laid_out / fixture)
    assert document["names"] == "seen" and document["consistent"]
    if name == "why":
        run(isolator, name, laid_out / fixture, "--no-stack", "--top", "1")


@pytest.mark.parametrize("name", ["status", "why"])
def test_schemas_are_closed(isolator: Path, laid_out: Path, name: str) -> None:
    """A key that is missing or unknown is not valid."""
    closed(name, run(isolator, name, laid_out / "busy"))


def test_unprivileged(isolator: Path, laid_out: Path) -> None:
    """Who is not root sees totals, and null instead of names."""
    unpack("unprivileged", laid_out / "unprivileged")
    program = copy_for_all(isolator, laid_out)
    documents = {}
    for name, code in (("status", 0), ("why", 2)):
        done = subprocess.run([program, name, "--json", "--proc", laid_out / "unprivileged"],
                              capture_output=True, text=True, check=False,
                              **NOBODY)
        assert done.returncode == code, done.stderr
        documents[name] = valid(name, done.stdout)
        assert documents[name]["names"] == "denied"
    one = documents["status"]["cpus"][0]
    assert one["totals"]["queued"] == 58
    assert one["callbacks"] is None and one["senders"] is None
    assert one["longest"] == {"ns": 100300000, "kind": "call", "callback": None, "comm": None}
    assert documents["why"]["senders"] == []
    assert [b["waited_ns"] for b in documents["why"]["deliveries"]] == [100000000, 0, 100300000]
    assert all(b["comm"] is None and b["pid"] is None for b in documents["why"]["deliveries"])


def test_sums(isolator: Path, laid_out: Path) -> None:
    """Senders add up to totals; where they do not, that is said."""
    document = run(isolator, "status", laid_out / "busy")
    for cpu in document["cpus"]:
        for count in COUNTS:
            assert sum(s["counts"][count] for s in cpu["senders"]) == cpu["totals"][count]
    stats = laid_out / "busy/stats"
    stats.write_text(stats.read_text().replace("total deferred 57", "total deferred 58"))
    assert not run(isolator, "status", laid_out / "busy")["consistent"]


def test_names_are_kept(isolator: Path, laid_out: Path) -> None:
    """Names come out as the kernel wrote them, and bytes that are no text do no harm."""
    senders = laid_out / "busy/senders"
    senders.write_bytes(senders.read_bytes().replace(b"comm qemu", b'comm q"\xff\xc3'))
    document = run(isolator, "status", laid_out / "busy")
    names = {s["comm"] for s in document["cpus"][0]["senders"]}
    assert {"Web Content (2)", "comm x kind y", "a\\033[31mb\\012", "prüf", "",
            'q"\ufffd\ufffd'} <= names


def _samples(isolator: Path, link: Path, *targets: Path) -> list[dict[str, Any]]:
    """One sample of each of @targets in turn, from one run."""
    swap(link, targets[0])
    process = subprocess.Popen(
        [isolator, "status", "--live", "--json", "--proc", link, "--interval", "5",
         "--count", str(len(targets))], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    lines = []
    for target in [*targets[1:], None]:
        lines.append(process.stdout.readline())
        if target:
            swap(link, target)  # before its next sample: the schema is for afterwards
    assert process.wait(PATIENCE_S) == 0
    return [valid("status", line) for line in lines]


def test_rates(isolator: Path, laid_out: Path) -> None:
    """Rates are differences by time; none in a first sample and after a new start."""
    first, second = _samples(isolator, laid_out / "proc", laid_out / "busy",
                             laid_out / "busy-later")
    assert first["seconds"] is None and all(c["rates"] is None for c in first["cpus"])
    seconds = second["seconds"]
    # Of the samples themselves: after one that came late the next one comes sooner.
    assert seconds == pytest.approx((second["monotonic_ns"] - first["monotonic_ns"]) / 1e9,
                                    abs=.001)
    assert 0 < seconds < PATIENCE_S
    rates = {cpu["cpu"]: cpu["rates"] for cpu in second["cpus"]}
    want = {"deferred": 6, "excluded": 0, "queued": 13, "missed": 1, "immediate": 0, "refused": 0,
            "planned": 0}
    assert {k: round(v * seconds, 1) for k, v in rates[1].items()} == want
    assert rates[2] is None  # its isolation has ended
    assert rates[3] is None  # another isolation


def _why(isolator: Path, link: Path, before: Path, after: Path) -> tuple[int, dict[str, Any]]:
    """A span in which @before becomes @after; ended by the signal that Ctrl-C sends."""
    swap(link, before)
    process = subprocess.Popen(
        [isolator, "why", "--json", "--time", "600", "--proc", link],
        stdout=subprocess.PIPE, text=True)
    # Asleep with SIGINT caught: it has read the first sample.
    until(lambda: waits(process.pid))
    swap(link, after)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, valid("why", out)


def test_span(isolator: Path, laid_out: Path) -> None:
    """why --time tells of the difference only."""
    code, document = _why(isolator, laid_out / "proc", laid_out / "busy", laid_out / "busy-later")
    assert code == 2
    told = [(c["cpu"], c["comm"], c["longest_ns"]) for c in document["senders"]]
    assert told == [(1, "Web Content (2)", 0), (1, "kworker/1:1", 2500000),
                    (1, "swapper/0", 8000), (1, "insmod", 0), (3, "insmod", 0)]
    assert [b["at_ns"] for b in document["deliveries"]] == [9000000000]
    assert [(c["cpu"], c["restarted"]) for c in document["cpus"]] == [(1, False), (3, True)]
    assert document["cpus"][0]["counts"]["queued"] == 13


def test_span_without_a_deadline_miss(isolator: Path, laid_out: Path) -> None:
    """The deadline misses of before are not of the span: exit 0."""
    code, document = _why(isolator, laid_out / "proc", laid_out / "busy", laid_out / "busy")
    assert code == 0 and document["senders"] == [] and document["deliveries"] == []


def test_span_in_which_the_isolation_ends(isolator: Path, laid_out: Path) -> None:
    """It is told with how it ended, and another one that began meanwhile is not."""
    code, document = _why(isolator, laid_out / "proc", laid_out / "quiet", laid_out / "ended")
    assert code == 0
    assert [(c["cpu"], c["state"], c["end"]) for c in document["cpus"]] == [(1, "ended", "stop")]
    code, document = _why(isolator, laid_out / "proc", laid_out / "quiet", laid_out / "busy")
    assert [c["cpu"] for c in document["cpus"]] == [1]
    assert code == 2


def test_span_with_another_isolation_that_counted_more(isolator: Path, laid_out: Path) -> None:
    """Counts that only grew are not the proof that it is the same one."""
    status = laid_out / "busy-later" / "status"
    text = status.read_text()
    assert text.count("started_ns 4000000000") == 1
    try:
        status.write_text(text.replace("started_ns 4000000000", "started_ns 5000000000"))
        _, document = _why(isolator, laid_out / "proc", laid_out / "busy",
                           laid_out / "busy-later")
    finally:
        status.write_text(text)
    assert [(c["cpu"], c["restarted"]) for c in document["cpus"]] == [(1, True), (3, True)]
    assert document["cpus"][0]["counts"]["queued"] > 13


@pytest.mark.parametrize("environment", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_no_colours(isolator: Path, laid_out: Path, environment: dict[str, str]) -> None:
    """Neither with NO_COLOR nor on a terminal that has none."""
    terminal = Terminal(24, 100, environment, isolator, "status", "--proc",
                        laid_out / "busy")
    terminal.until("CPU 3")
    assert terminal.end(b"") == 0
    assert "\033" not in terminal.text


def test_json_on_a_terminal(isolator: Path, laid_out: Path) -> None:
    """JSON lines stay JSON lines."""
    terminal = Terminal(24, 80, {"TERM": "xterm"}, isolator, "status", "--proc",
                        laid_out / "quiet", "--live", "--interval", "0.05", "--json")
    terminal.until("}\r\n", 2)
    # Not by Ctrl-C: the terminal drops what nobody has read by then, amid a line.
    os.kill(terminal.pid, signal.SIGINT)
    assert terminal.end(b"") == 0
    for line in terminal.text.split():
        valid("status", line)


def test_closed_pipe(isolator: Path, laid_out: Path) -> None:
    """Who reads no more ends it."""
    process = subprocess.Popen([isolator, "status", "--proc", laid_out / "quiet",
                                "--live", "--interval", "0.01"], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE_S) == -signal.SIGPIPE


def test_many(isolator: Path, tmp_path: Path) -> None:
    """Many CPUs, with as many senders and frames as the kernel keeps."""
    cpus, senders, frames = 64, 512, 8
    full_tables(tmp_path, cpus, senders, frames)
    # The schema of so much would be looked at for a minute.
    status = subprocess.run([isolator, "status", "--json", "--proc", tmp_path],
                            stdout=subprocess.PIPE, check=True)
    document = json.loads(status.stdout)
    assert document["consistent"] and len(document["cpus"]) == cpus
    assert all(len(cpu["senders"]) == senders for cpu in document["cpus"])
    why = subprocess.run([isolator, "why", "--json", "--top", "0", "--proc", tmp_path],
                         stdout=subprocess.PIPE, check=True)
    document = json.loads(why.stdout)
    assert len(document["senders"]) == cpus * senders
    assert all(len(c["stack"]) == frames for c in document["senders"])


def _damage(text: bytes, chance: random.Random) -> bytes:
    """@text with a few bytes changed, lost, doubled, or its lines in disorder."""
    damaged = bytearray(text)
    for _ in range(chance.randint(1, 4)):
        at, source = chance.randrange(len(damaged)), chance.randrange(len(damaged))
        what = chance.choice(["change", "change", "lose", "double", "disorder"])
        if what == "change":
            damaged[at] = chance.choice(b" \n0123456789abc-[]\\x\xff\x00")
        elif what == "lose":
            del damaged[at:at + chance.randint(1, 20)]
        elif what == "double":
            damaged[at:at] = damaged[source:source + chance.randint(1, 60)]
        else:
            lines = bytes(damaged).split(b"\n")
            chance.shuffle(lines)
            damaged = bytearray(b"\n".join(lines) + b"\n")
    return bytes(damaged)


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"],
                                       ["why"], ["why", "--json"], ["export"],
                                       ["status", "--live", "--count", "2",
                                        "--interval", "0.001"]])
def test_damaged(isolator: Path, laid_out: Path, arguments: list[str]) -> None:
    """Whatever stands in the files: an answer or an error, no crash, no wrong access."""
    chance = random.Random(" ".join(arguments))
    codes = set()
    files = ["status", "stats", "senders", "deliveries", "limits"]
    for _ in range(60):
        path = laid_out / "busy" / chance.choice(files)
        whole = path.read_bytes()
        path.write_bytes(_damage(whole, chance))
        done = subprocess.run([isolator, *arguments, "--proc", laid_out / "busy"],
                              capture_output=True, check=False)
        codes.add(done.returncode)
        assert done.returncode in (0, 1, 2, 3), done.stderr.decode()
        assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr
        assert (done.returncode == 1) == done.stderr.startswith(b"isolator ")
        if done.returncode != 1 and "--json" in arguments:
            valid(arguments[0], done.stdout.decode())
        if arguments == ["export"]:
            assert bool(done.returncode) == (not done.stdout)
            assert done.stdout.decode()[-1:] in ("", "\n")  # UTF-8
        path.write_bytes(whole)
    assert codes == {0, 1} if arguments == ["export"] else {1} < codes


@pytest.mark.parametrize(("name", "fixture", "end"), [("status", "busy", "exit"),
                                                      ("why", "ended", "stop")])
def test_words_that_steer_a_terminal(isolator: Path, tmp_path: Path, name: str, fixture: str,
                                     end: str) -> None:
    """Files of --proc are anybody's: how an isolation ended, and what kinds there are."""
    unpack(fixture, tmp_path)
    word = "\033[2J\u009b2J"
    status, senders = tmp_path / "status", tmp_path / "senders"
    status.write_text(status.read_text().replace(f"ended {end}", f"ended {word}"))
    senders.write_text("".join(line for line in senders.read_text().splitlines(keepends=True)
                               if "kind others" not in line))  # whose kind may be any
    for file, line in (("stats", f"cpu 1 kind {word} longest_ns 9900000000\n"),
                       ("deliveries", f"cpu 1 immediate kind {word} at_ns 1 waited_ns 0\n")):
        with (tmp_path / file).open("a") as table:
            table.write(line)
    done = subprocess.run([isolator, name, "--proc", tmp_path], capture_output=True, text=True,
                          check=False)
    assert done.stdout.count("?[2J?2J") == 2, done.stdout
    assert not {*done.stdout} & {"\033", "\u009b"}
    done = subprocess.run([isolator, name, "--json", "--proc", tmp_path], capture_output=True,
                          text=True, check=False)
    assert valid(name, done.stdout) and "\\u001b[2J\\u009b2J" in done.stdout
    assert not {*done.stdout} & {"\033", "\u009b"}
