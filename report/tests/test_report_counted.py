# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents of isolator-bpf: read, held to themselves, shown, and refused where they are no use."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_documents as documents
from isolator_report.cli import main
from isolator_report.counted import Counted, check_any
from isolator_report.document import NS, nanoseconds, stamp
from isolator_report.errors import ERROR, INCONCLUSIVE, PASS, InvalidResult, ReportError
from isolator_report.page import page
from isolator_report.perfetto_trace import export
from test_report_page import read
from test_report_perfetto import read as read_trace

Data = dict[str, Any]
BEGAN = documents.BEGAN


def histogram(*values: int) -> list[int]:
    """Of powers of two, as the programs in the kernel count."""
    found = [0] * (max(max(values), 1).bit_length())
    for value in values:
        found[max(value, 1).bit_length() - 1] += 1
    return found


def count(*values: int) -> Data:
    """What a row says of these lengths in ns."""
    if not values:
        return {"count": 0, "total_ns": 0, "worst_ns": 0, "worst_at": None, "histogram": []}
    return {"count": len(values), "total_ns": sum(values), "worst_ns": max(values),
            "worst_at": stamp(BEGAN + NS), "histogram": histogram(*values)}


def source(kind: str, who: str | None, *values: int, cpu: int = 1, sender: str | None = None
           ) -> Data:
    """All that this one had of the CPU."""
    return {"cpu": cpu, "kind": kind, "who": who, **count(*values), "sender": sender,
            "sender_cpu": 0 if sender else None,
            "stack": ["smp_call_function_single", "do_syscall_64"] if sender else []}


def document(**changes: Any) -> Data:
    """Two CPUs: the first lost 3 µs, 40 µs and 1 ms, the second nothing."""
    excesses = [{"cpu": 1, "trigger": number, "value_ns": value, "at": stamp(BEGAN + number * NS),
                 "explained_ns": value - 500, "causes": [
                     {"kind": "preemption", "who": "<hog>", "pid": 77, "sender": "idle",
                      "sender_cpu": 1, "ns": value - 500, "stack": []}]}
                for number, value in ((2, 1_000_000), (1, 40_000))]
    return {
        "schema": "isolator.bpf-noise", "version": 1, "time": "2027-01-15T08:00:10Z",
        "kernel": "6.12.57-rt", "verdict": "passed", "exit": 0, "limit_ns": None,
        "began": stamp(BEGAN), "seconds": 10.0, "early": False, "cpus": [1, 3], "of": None,
        "notes": "this kernel does not tell page faults (page_fault_user)\n",
        "account": {"complete": True, "uncounted": 0, "missed": 0, "crowded": 12, "unmatched": 3,
                    "unseen": 6, "without_sender": 4, "without_stack": 5},
        "cost": {"events": 123_456, "event_ns": 227, "percent": 0.28, "runs": 1000,
                 "run_ns": 313_000, "run_seconds": 1.0},
        "losses": [{"cpu": 1, **count(3000, 40_000, 1_000_000)}, {"cpu": 3, **count()}],
        "sources": [source("preemption", "<hog>", 1_000_000, 39_000),
                    source("ipi", "flush_tlb_func", 3000, sender="cc1"),
                    source("page fault", "user", 0, 0, 0)],
        "attribution": {
            "source": "bpf", "threshold_ns": 10_000, "seen": 2, "looked": 2, "lost": 0,
            "overhead": None, "excesses": excesses, "causes": [
                {"kind": "preemption", "who": "<hog>", "count": 2, "total_ns": 1_039_000,
                 "worst_ns": 999_500, "worst_at": stamp(BEGAN + 2 * NS)}]},
        **changes}


def counted(**changes: Any) -> Counted:
    """The same, checked."""
    found = check_any(document(**changes), "counted.json")
    assert isinstance(found, Counted)
    return found


def save(directory: Path, data: Data) -> str:
    path = directory / "counted.json"
    path.write_text(json.dumps(data))
    return str(path)


def test_everything_is_in_the_page() -> None:
    """Losses, all that had the CPU with its share, causes, account, cost; text stays text."""
    text = page([counted()])
    words = " ".join(read(text).words)
    for said in ("isolator-bpf: noise", "passed", "no limit was given", "CPU 1", "CPU 3",
                 "Nothing was taken from tasks", "3 times", "1 ms", "0.010 % of the time",
                 "<hog>", "0.010 %", "flush_tlb_func", "cc1 on CPU 0", "do_syscall_64",
                 "page fault", "2 values above 10 µs", "0 whose parts found no room",
                 "from idle on CPU 1", "500 ns not explained", "does not tell page faults",
                 "6.12.57-rt", "123,456, 227 ns each: 0.280 %", "1,000 in 1 s, 313 ns each",
                 "12, as the table was full", "4 senders, 5 stacks", "threshold",
                 "Nothing else ran there"):
        assert said in words, said
    assert "what looking costs was not measured" not in words
    assert "<hog>" not in text


def test_the_page_stands_alone_beside_others() -> None:
    """With a result of isolator measure on one page: whole, each link leads somewhere."""
    text = page([counted(), documents.result(documents.lognormal(3000, 1)), counted()])
    reader = read(text)
    assert reader.links <= reader.ids and not reader.sources
    assert len({name for name in reader.ids if name.startswith("r2-")}) == 5
    assert "isolator measure: latency; isolator-bpf: noise" in " ".join(reader.words)


def test_the_chart_has_all_losses_where_they_belong() -> None:
    """Buckets of powers of two: the cursor reads 2^n to 2^(n+1) ns."""
    chart = re.search(r'data-steps="([\d.]+)"[^>]*data-bins="([^"]*)"', page([counted()]))
    assert chart is not None
    assert chart[2].split("|")[1].split(",") == ["11:1", "15:1", "19:1"]
    assert round(10 ** (11 / float(chart[1]))) == 2**11


@pytest.mark.parametrize(("changes", "said"), [
    ({"verdict": "exceeded", "exit": 2, "limit_ns": 500_000}, "is above the limit of 500 µs"),
    ({"limit_ns": 2_000_000}, "is within the limit of 2 ms"),
    ({"early": True}, "A signal ended it before its time"),
    ({"verdict": "running", "exit": None}, "it has not ended, or was killed"),
    ({"of": 4711}, "Nothing was taken from process or thread 4711"),
    ({"notes": None}, "counted; no limit was given"),
    ({"cost": {**document()["cost"], "event_ns": None, "runs": None, "run_ns": None}},
     "the kernel did not measure them"),
])
def test_what_is_said_of_a_run(changes: Data, said: str) -> None:
    """Of each verdict, in words."""
    assert said in " ".join(read(page([counted(**changes)])).words)


def test_what_was_not_counted_is_no_result(tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """The page is made and says so, and the exit status is 3."""
    account = {**document()["account"], "complete": False, "uncounted": 3, "missed": 2}
    path = save(tmp_path, document(verdict="inconclusive", exit=3, account=account))
    assert main(["html", path, "-o", str(tmp_path / "x.html")]) == INCONCLUSIVE
    assert "5 events were not counted" in capsys.readouterr().err
    words = " ".join(read((tmp_path / "x.html").read_text()).words)
    assert "not everything could be counted" in words and "5 events were not counted" in words


def lose(data: Data) -> None:
    data["losses"][0]["count"] += 1


def hide(data: Data) -> None:
    data["sources"][0]["histogram"][-1] = 0


def shorten(data: Data) -> None:
    data["losses"][0]["worst_ns"] = 40_000


def lengthen(data: Data) -> None:
    data["losses"][0]["total_ns"] = 999_999


def swallow(data: Data) -> None:
    data["attribution"]["looked"] = 1


def pretend(data: Data) -> None:
    data["account"]["missed"] = 1


def leave_out(data: Data) -> None:
    del data["losses"][1]


def shuffle(data: Data) -> None:
    data["attribution"]["excesses"].reverse()


def another(data: Data) -> None:
    data["attribution"]["excesses"][0]["value_ns"] += 1


@pytest.mark.parametrize(("change", "said"), [
    (lose, "losses of CPU 1: the buckets hold 3, count says 4"),
    (hide, "preemption <hog> on CPU 1: the buckets hold 1"),
    (shorten, "is not in its last bucket"),
    (lengthen, "is more than all together"),
    (swallow, "2 losses were above the threshold, 1 told or lost"),
    (pretend, "complete says True"),
    (leave_out, "are not those of CPUs"),
    (shuffle, "worst excess is not its longest"),
    (another, "worst excess is not its longest"),
])
def test_broken_invariants(change: Callable[[Data], None], said: str, tmp_path: Path,
                           capsys: pytest.CaptureFixture[str]) -> None:
    """What contradicts itself is no result: exit 3, and nothing is written."""
    data = document()
    change(data)
    with pytest.raises(InvalidResult, match=said):
        check_any(data, "x")
    path = save(tmp_path, data)
    assert main(["html", path, "-o", str(tmp_path / "x.html")]) == INCONCLUSIVE
    assert said in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == 1


def test_a_running_one_may_be_between_two_counts() -> None:
    """It is read while the programs count on: shown as it is."""
    data = document(verdict="running", exit=None)
    swallow(data)
    lose(data)
    assert isinstance(check_any(data, "x"), Counted)


@pytest.mark.parametrize(("change", "said"), [
    ({"version": 2}, "take a newer isolator-report"),
    ({"version": 0}, "measure it again"),
    ({"seconds": "ten"}, r"\$.seconds"),
    ({"verdict": "fine"}, r"\$.verdict"),
])
def test_what_is_no_document(change: Data, said: str) -> None:
    """An error that says what helps."""
    with pytest.raises(ReportError, match=said):
        check_any({**document(), **change}, "x")


@pytest.mark.parametrize("words", [
    ["compare", "{}", "{}"], ["merge", "{}"], ["advise", "{}"]])
def test_the_other_commands_refuse_it(words: list[str], tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    """And say why, what reads it, and what measures the same."""
    path = save(tmp_path, document())
    assert main([word.replace("{}", path) for word in words]) == ERROR
    said = capsys.readouterr().err
    for part in ("isolator.measure", "powers of two", "html and perfetto", "measure noise"):
        assert part in said
    assert said.count("\n") == 1


def test_perfetto(tmp_path: Path) -> None:
    """Each loss from its beginning on, with its parts."""
    path = save(tmp_path, document())
    assert main(["perfetto", path, "-o", str(tmp_path / "x")]) == PASS
    names, slices, trace = read_trace((tmp_path / "x").read_bytes())
    assert set(names.values()) == {("CPU 1",), ("CPU 1", "excess"), ("CPU 1", "preemption")}
    found = {(names[track][-1], begin): end - begin for track, begin, end, _ in slices}
    assert found["excess", BEGAN + 2 * NS] == 1_000_000
    assert found["preemption", BEGAN + NS] == 39_500
    assert [clock.timestamp for clock in trace.packet[0].clock_snapshot.clocks] == [BEGAN + NS]
    quiet = copy.deepcopy(document())
    quiet["attribution"].update(excesses=[], causes=[], seen=0, looked=0)
    with pytest.raises(ReportError, match="nothing to draw"):
        export(check_any(quiet, "x"))
    assert nanoseconds(document()["began"]) == BEGAN
