# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator export: what the metrics say, whatever the names are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from clitest import CLI, COUNTS, FIXTURES, NOBODY, copy_for_all, flat, full_tables, run, unpack
from exporttest import export, families, full, machine, of, one, parse, stock


@pytest.mark.parametrize("fixture", FIXTURES)
def test_format(isolator: Path, laid_out: Path, fixture: str) -> None:
    """The one that node_exporter reads: it has neither units nor infos, nor an end of its own."""
    text = export(isolator, "--proc", laid_out / fixture).stdout
    assert one(parse(text), "isolator_available") == 1
    assert "# EOF" not in text and "# UNIT" not in text and " info\n" not in text
    assert "# TYPE isolator_build_info gauge\n" in text


def test_types(isolator: Path, laid_out: Path) -> None:
    """Counters are such."""
    full(laid_out / "busy")
    found = {f.name: f for f in families(export(isolator, "--proc", laid_out / "busy").stdout)}
    for count in COUNTS:
        assert found[f"isolator_{count}"].type == "counter"
    for name in ("ticks", "yields", "tick_entries", "planned_interruptions", "sender_deferred",
                 "callback_deferred"):
        assert found[f"isolator_{name}"].type == "counter"
    for name in ("sender_others", "callback_others", "longest_spin_seconds"):
        assert found[f"isolator_{name}"].type == "gauge"


@pytest.mark.parametrize("fixture", ["busy", "busy-later", "manual", "quiet"])
def test_as_status_says(isolator: Path, laid_out: Path, fixture: str) -> None:
    """The numbers are those of isolator status: totals, kinds, senders and what is left."""
    document = run(isolator, "status", laid_out / fixture)
    text = export(isolator, "--proc", laid_out / fixture).stdout
    found = parse(text)
    assert document["cpus"]
    for cpu in document["cpus"]:
        number = str(cpu["cpu"])
        assert one(found, "isolator_cpu_isolated", cpu=number) == (cpu["state"] == "isolated")
        for count in COUNTS:
            total = cpu["totals"][count]
            assert f'isolator_{count}_total{{cpu="{number}"}} {total}\n' in text
            senders = sum(of(found, f"isolator_sender_{count}_total", cpu=number).values())
            others = one(found, "isolator_sender_others", cpu=number, outcome=count)
            assert senders + others == total
        for kind, ns in cpu["kinds"].items():
            assert one(found, "isolator_longest_wait_seconds", cpu=number, kind=kind) == ns / 1e9
        assert one(found, "isolator_longest_spin_seconds", cpu=number) == cpu["kinds"]["call"] / 1e9


def test_owner(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """Whose it is, what it counts of itself, its deadlines and what it did not get."""
    full(laid_out / "busy")
    found = parse(export(isolator, "--proc", laid_out / "busy", "--root",
                         machine(tmp_path / "root", 'mo"tor\\n')).stdout)
    assert list(of(found, "isolator_cpu_owner_info")) == [
        (("cpu", "1"), ("name", 'mo"tor\\n'), ("pid", "40"), ("tid", "41"))]
    own = [one(found, f"isolator_{name}_total", cpu="1")
           for name in ("ticks", "yields", "planned_interruptions", "tick_entries")]
    assert own == [700, 20, 4, 600]
    assert one(found, "isolator_cpu_isolated_seconds", cpu="1") > 0
    # It began after it was read, as it may where the files change meanwhile.
    assert not of(found, "isolator_cpu_isolated_seconds", cpu="3")
    assert one(found, "isolator_cpu_deadline_seconds", cpu="1") == 1
    assert one(found, "isolator_cpu_deadline_seconds", cpu="3") == float("inf")
    assert one(found, "isolator_cpu_spin_deadline_seconds", cpu="3") == 0.02
    short = {dict(key)["what"] for key, value in of(found, "isolator_cpu_achieved").items()
             if not value}
    assert short == {"resched", "locked"}
    assert of(found, "isolator_cpu_end_info") == {(("by", "exit"), ("cpu", "2")): 1}
    assert {key[0][1] for key in of(found, "isolator_cpu_allowed")} == {"1", "2", "3"}
    assert one(found, "isolator_limit_deadline_seconds") == 3600
    assert of(found, "isolator_limits_info") == {(("msr", "queue"), ("perf", "refuse")): 1}


def test_owner_that_ended(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """Of a thread that is not there any more the number stays; of one not seen, nothing."""
    full(laid_out / "busy")
    (tmp_path / "root/proc").mkdir(parents=True)
    found = parse(export(isolator, "--proc", laid_out / "busy", "--root", tmp_path / "root").stdout)
    assert list(of(found, "isolator_cpu_owner_info")) == [(("cpu", "1"), ("tid", "41"))]


def test_when(isolator: Path, laid_out: Path) -> None:
    """The time of the sample is now."""
    before = time.time()
    found = parse(export(isolator, "--proc", laid_out / "quiet").stdout)
    assert before - 1e-3 <= one(found, "isolator_sample_timestamp_seconds") <= time.time() + 1e-3


def test_senders_that_do_not_add_up(isolator: Path, laid_out: Path) -> None:
    """It is said."""
    stats = laid_out / "busy/stats"
    assert one(parse(export(isolator, "--proc", laid_out / "busy").stdout),
               "isolator_sample_consistent") == 1
    stats.write_text(stats.read_text().replace("total deferred 57", "total deferred 58"))
    assert one(parse(export(isolator, "--proc", laid_out / "busy").stdout),
               "isolator_sample_consistent") == 0


@pytest.mark.parametrize("top", [1, 3, 0])
def test_top(isolator: Path, laid_out: Path, top: int) -> None:
    """So many of each CPU, the worst, and the others are one: nothing is lost."""
    found = parse(export(isolator, "--proc", laid_out / "busy", "--top", str(top)).stdout)
    for what, all_of_them in (("sender", 9), ("callback", 6)):
        names = {tuple(label for label in key if label[0] != "cpu")
                 for count in COUNTS for key in of(found, f"isolator_{what}_{count}_total",
                                                   cpu="1")}
        assert len(names) == (top or all_of_them)
        # It missed its deadline.
        assert ("callback", "flush_tlb_func") in {label for name in names for label in name}
    held = sum(of(found, "isolator_sender_queued_total", cpu="1").values())
    assert held + one(found, "isolator_sender_others", cpu="1", outcome="queued") == 58
    # Those for which the kernel had no room have no series.
    assert not of(found, "isolator_sender_queued_total", kind="others")
    assert one(found, "isolator_sender_others", cpu="1", outcome="deferred") >= 5


def test_many(isolator: Path, tmp_path: Path) -> None:
    """Full tables of many CPUs make a text that stays small, in little time."""
    cpus, senders = 64, 1024
    full_tables(tmp_path, cpus, senders, 0)
    text = export(isolator, "--proc", tmp_path).stdout
    assert text.count("\nisolator_sender_deferred_total") == 10 * cpus
    assert len(text) < 500_000
    parse(text)


def _names(laid_out: Path, *names: bytes) -> Path:
    """The fixture busy, whose first senders and callbacks are called so."""
    senders, stats = laid_out / "busy/senders", laid_out / "busy/stats"
    text = b"".join(
        b"cpu 1 sender callback c_%s kind call deferred 0 excluded 0 queued 1 missed 9 immediate 0 "
        b"refused 0 longest_ns %d comm %s\n" % (name.replace(b" ", b"_"), 10 + number, name)
        for number, name in enumerate(names))
    senders.write_bytes(text)
    stats.write_bytes(stats.read_bytes() + b"".join(
        b"cpu 1 callback c_%s deferred 0 excluded 0 queued 1 missed 9 immediate 0 refused 0 "
        b"longest_ns 7\n" % name.replace(b" ", b"_") for name in names))
    return laid_out / "busy"


HOSTILE = [b'a"} 1', b"back\\slash", b"\\", b'"', b"\\n", b"tab\tbell\a\033[2J", b"\xff\xfe",
           b"\xc3", "prüf \u2028 \u0085".encode(), b"\xed\xa0\x80", b"# EOF", b"x\r", b"\x7f",
           b"{}=,", b"\\\\\"", b"\xf4\x90\x80\x80"]


def test_hostile_names(isolator: Path, laid_out: Path) -> None:
    """Each is a label of its own, from which nothing else is made."""
    directory = _names(laid_out, *HOSTILE)
    found = parse(export(isolator, "--proc", directory, "--top", "0").stdout)
    names = {dict(key)["sender"] for key in of(found, "isolator_sender_missed_total")}
    assert names == {'a"} 1', "back\\slash", "\\", '"', "\\n", "tab\\011bell\\007\\033[2J",
                     "\\377\\376", "\\303", "prüf \u2028 \\302\\205", "\\355\\240\\200",
                     "# EOF", "x\\015", "\\177", "{}=,", '\\\\"', "\\364\\220\\200\\200"}
    callbacks = {dict(key)["callback"] for key in
                 of(found, "isolator_callback_missed_total")} - {"flush_tlb_func"}
    assert callbacks == {"c_" + name.replace(" ", "_") for name in names}


def test_names_that_become_one(isolator: Path, laid_out: Path) -> None:
    """Two that a label cannot tell apart, and a module's callback loaded twice, are added up."""
    directory = _names(laid_out, b"\xff", b"\\377", b"other")
    stats = directory / "stats"
    stats.write_bytes(stats.read_bytes() + b"cpu 1 callback c_other deferred 5 excluded 0 queued 2 "
                      b"missed 1 immediate 0 refused 0 longest_ns 9000\n")
    found = parse(export(isolator, "--proc", directory).stdout)
    assert one(found, "isolator_sender_missed_total", sender="\\377", callback="c_\\377") == 18
    assert one(found, "isolator_sender_longest_wait_seconds", sender="\\377") == 11e-9
    assert one(found, "isolator_callback_missed_total", callback="c_other") == 10
    assert one(found, "isolator_callback_deferred_total", callback="c_other") == 5
    assert one(found, "isolator_callback_longest_wait_seconds", callback="c_other") == 9e-6


def test_no_names(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """Neither of senders, nor of callbacks, nor of owners."""
    full(laid_out / "busy")
    text = export(isolator, "--proc", laid_out / "busy", "--no-names", "--root",
                  machine(tmp_path / "root")).stdout
    found = parse(text)
    assert one(found, "isolator_names_seen") == 0
    assert "sender" not in text.replace("senders", "").replace("a sender", "")
    assert "motor" not in text and "flush_tlb_func" not in text and "insmod" not in text
    assert list(of(found, "isolator_cpu_owner_info")) == [
        (("cpu", "1"), ("pid", "40"), ("tid", "41"))]
    assert one(found, "isolator_missed_total", cpu="1") == 2


def test_unprivileged(isolator: Path, laid_out: Path) -> None:
    """Totals without names, which is said."""
    unpack("unprivileged", laid_out / "unprivileged")
    program = copy_for_all(isolator, laid_out)
    found = parse(export(program, "--proc", laid_out / "unprivileged", **NOBODY).stdout)
    assert one(found, "isolator_names_seen") == 0
    assert one(found, "isolator_queued_total", cpu="1") == 58
    assert not of(found, "isolator_sender_others") and not of(found, "isolator_callback_others")


def test_no_limits(isolator: Path, laid_out: Path) -> None:
    """What cannot be read is left out."""
    (laid_out / "busy/limits").unlink()
    assert not of(parse(export(isolator, "--proc", laid_out / "busy").stdout),
                  "isolator_limits_info")


def test_stock_kernel(isolator: Path, tmp_path: Path) -> None:
    """It says that, once for people and once for programs, and is no error."""
    done = export(isolator, "--root", stock(tmp_path / "root"))
    found = parse(done.stdout)
    assert one(found, "isolator_available") == 0 and "has no Isolator" in flat(done.stderr)
    assert of(found, "isolator_build_info") and len(found) == 3
    assert done.stderr.count("isolator export: ") == 1


def test_isolator_below_a_root(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """What stands at its place is found there; a file that may not be read is no stock kernel."""
    root = stock(tmp_path / "root")
    (laid_out / "busy").rename(root / "proc/isolator")
    done = export(isolator, "--root", root)
    assert one(parse(done.stdout), "isolator_available") == 1 and not done.stderr
    (root / "proc/isolator/stats").unlink()
    assert "there is no" in export(isolator, "--root", root, code=1).stderr


def test_no_proc(isolator: Path, tmp_path: Path) -> None:
    """Without /proc nobody can tell: that is an error, not a stock kernel."""
    (tmp_path / "root").mkdir()
    done = export(isolator, "--root", tmp_path / "root", code=1)
    assert "mount /proc" in flat(done.stderr) and not done.stdout


@pytest.mark.parametrize(("arguments", "says"), [
    (["--top", "-1"], "is not a whole number"),
    (["-i", "0", "-o", "x"], "is not a time"),
    (["-i", "-1", "-o", "x"], "is not a time"),
    (["-i", "nan", "-o", "x"], "is not a time"),
    (["-i", "1000000001", "-o", "x"], "is not a time"),
    (["-i", "1"], "--interval needs --output FILE"),
    (["-i", "1", "-o", "-"], "--interval needs --output FILE"),
    (["-o", ""], "FILE is empty"),
    (["--proc", "nowhere"], "--proc must name a directory"),
    (["word"], "unexpected argument")])
def test_bad_options(isolator: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    """An error that says what is wanted; nothing is written."""
    done = export(isolator, *arguments, code=1, cwd=tmp_path)
    assert says in flat(done.stderr) and not done.stdout and not os.listdir(tmp_path)


def test_full_disk(isolator: Path, laid_out: Path) -> None:
    """It is an error of this program too."""
    with open("/dev/full", "w") as out:
        done = subprocess.run([isolator, "export", "--proc", laid_out / "busy"], stdout=out,
                              stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "cannot write" in flat(done.stderr)


def test_dashboard_is_json() -> None:
    """One that Grafana takes: panels with queries, each of a place of its own."""
    board = json.loads((CLI / "grafana/isolator.json").read_text())
    assert board["uid"] and board["title"] and board["schemaVersion"] >= 30
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and place["x"] + place["w"] <= 24
        taken |= cells
        assert panel["description"] and panel["targets"]


def _documented() -> set[str]:
    """The metrics of docs/metrics.md; those with an outcome for each."""
    text = (CLI.parent / "docs/metrics.md").read_text().split("## Each metric")[1]
    names = set(re.findall(r"`(isolator_\w+)`", text.split("**How many series.**")[0]))
    for what in ("callback", "sender"):
        names |= {f"isolator_{what}_{count}_total" for count in COUNTS}
    return names


def test_documented(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """Every metric is in the document and in the man page, and no other; its sample is real."""
    full(laid_out / "busy")
    arguments: list[str | Path] = ["--proc", laid_out / "busy", "--root",
                                   machine(tmp_path / "root")]
    text = export(isolator, *arguments).stdout
    found = {name for name, _ in parse(text)}
    documented = _documented()
    # One planned by a callback is in no fixture, and the names are of one pattern.
    assert found <= documented, found - documented
    assert {name for name in documented - found if not re.search("callback|sender", name)} == set()
    page = (CLI / "man/isolator-export.1").read_text()
    document = (CLI.parent / "docs/metrics.md").read_text()
    shown = document.split("# isolator export\n")[1].split("```")[0].splitlines()
    assert len(shown) > 10 and set(shown) <= set(text.splitlines()), \
        set(shown) - set(text.splitlines())
    top = export(isolator, *arguments, "--top", "1").stdout
    for line in page.split("isolator export \\-\\-top 1\n")[1].split(".EE")[0].splitlines():
        assert line in top.splitlines(), line
