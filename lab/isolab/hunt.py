# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab hunt: soaks an isolated core in whatever there is, and names what reaches it."""

import math
import random
import re
import shlex
import signal
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from . import catalogue, header, record, stressors, term
from .guests import dmesg, initramfs, kernel, machine, selftests
from .guests.guest import Event, Guest, Outcome, back, boot
from .guests.kernel import Kernel
from .guests.machine import Machine
from .judge import attempt, claims, instrument, jobs, readings
from .matrix import cells
from .matrix import claims as matrixclaims
from .paths import OUT

CONFIG = next(c for c in jobs.CONFIGS if c.isolates)
PLAIN = next(c for c in jobs.CONFIGS if not c.isolates)
SLICE_S = 5.0
# Slices that end by themselves took up to 12 s, and 15 beside other work.
KILL_S = 35.0
# One guest lives so long: one that dies takes no more than this with it.
BOOT_S = 240.0
TOP = 10
ALL_CPUS = "ff"
# How timeout, and a shell, tell of a command that SIGKILL has ended.
KILLED = 128 + signal.SIGKILL
_KILLED = re.compile(r"^killed (\S+)$", re.MULTILINE)
WHOLE = "all of it"
_WORKED = re.compile(r'^\{"worked":(true|false),', re.MULTILINE)
# What runs a slice says nothing, but that it cannot.
_REFUSED = re.compile(r"^\S*(?:sh|su|taskset|timeout): ", re.MULTILINE)
REFUSED_S = 1.0
# The task ticks every 10 ms; the observer looks as often.
TO_TICK_S = 0.03
# One slice in so many may have lost its CPU to the host.
KEPT_ONE_IN = 10
# So many may not begin, as one whose test of the kernel ends at once; one in 100 was seen.
IDLE_ONE_IN = 10
# So many slices that were killed are tried without isolation, in one guest.
MOST_TRIED = 20
# Of the triggers' answers so many must say that it did what it is for; seen were 260 of 264.
MIN_WORKED = 0.75
# Of the time that was asked for so much has to be slices; seen were 0.8 to 1.1 of it.
MIN_OF_TIME = 0.2


@dataclass(frozen=True)
class Slice:
    """Some seconds of a hunt: what runs, in words and as a command."""

    about: str
    command: str
    triggers: int = 0  # that have to say whether they worked


def _stress(rng: random.Random) -> Slice:
    cls = rng.choice(stressors.CLASSES)
    chosen = rng.sample(stressors.of_class(cls), 3)
    words = " ".join(f"--{name} 1" for name in chosen)
    user = rng.random() < 0.5 or any(name in stressors.UNPRIVILEGED for name in chosen)
    command = f"stress-ng --quiet --timeout {SLICE_S:g} --vm-bytes 48M --temp-path /tmp {words}"
    return Slice(f"stress-ng, class {cls}: {', '.join(chosen)}{' (user)' if user else ''}",
                 jobs.as_user(command) if user else command)


def _selftest(rng: random.Random, of: Machine) -> Slice:
    chosen = rng.sample(selftests.names(of), 2)
    # Ended before its slice is, which would leave it to the next ones.
    limit = f"timeout -s KILL {SLICE_S + 8:g}"
    commands = " & ".join(
        f"{{ {limit} /{selftests.GUEST}/{name}; [ $? != {KILLED} ] || echo killed {name}; }}"
        for name in chosen
    )
    return Slice(f"kernel selftests: {', '.join(chosen)}", f"{commands} & wait")


def _mix(rng: random.Random, names: list[str]) -> Slice:
    chosen = rng.sample(names, 4)
    return Slice(
        f"triggers: {', '.join(chosen)}",
        " & ".join(f"/lab/triggers/{name}" for name in chosen) + " & wait",
        len(chosen),
    )


def slices(seed: int, of: Machine = machine.X86_64) -> Iterator[Slice]:
    """Without end; the same for the same seed and machine."""
    rng = random.Random(seed)
    names = sorted(
        t.name
        for t in header.triggers()
        if t.kind != "self" and t.cls != "immediate" and not t.append and t.cpus == 2
        and of.name in t.arch
    )
    while True:
        draw = rng.random()
        if draw < 0.5:
            found = _stress(rng)
        else:
            found = _selftest(rng, of) if draw < 0.7 else _mix(rng, names)
        # Wherever the task's own CPU is not the only one: placement has to keep them off.
        anywhere = rng.random() < 0.5
        yield Slice(
            found.about + (" (any CPU)" if anywhere else ""),
            f"{f'taskset {ALL_CPUS} ' if anywhere else ''}sh -c {shlex.quote(found.command)}",
            found.triggers,
        )


def _ready(config: jobs.Config) -> list[str]:
    """What comes ahead of the slices, the task among it."""
    return [
        f"cpus {jobs.HOUSEKEEPING}", f"env ISO_CPU {jobs.ISOLATED}",
        f"env HK_CPU {jobs.HOUSEKEEPING}", f"run settings 5000 {config.settings}",
        f"run expand 10000 {jobs.EXPAND}",
        jobs.FACTS,
        *jobs.spinner(config),
    ]


def _slice(i: int, command: str, slower: float = 1.0) -> str:
    """Killed where it does not come to its end."""
    return (f"run slice.{i} {int((KILL_S + 10) * slower * 1000)} "
            f"timeout -s KILL {KILL_S:g} {command}")


def _job(batch: list[Slice], slower: float = 1.0) -> str:
    lines = _ready(CONFIG)
    for i, part in enumerate(batch):
        lines += [
            f"run begin-causes.{i} 10000 exec causes begin",
            *jobs.window(
                jobs.TRIGGER + i,
                str(i),
                [
                    _slice(i, part.command, slower),
                    f"sleep {jobs.AFTER_MS}",
                ],
            ),
            f"run causes.{i} 10000 exec causes end",
            f"file deliveries.{i} {jobs.DELIVERIES}",
        ]
    lines += [
        *jobs.DELIVERED, "file status /proc/isolator/status", "ctl probe 5000 probe",
        "ctl quit 5000 quit", "kill spinner 5000",
    ]
    return "\n".join(lines) + "\n"


def _plain_job(commands: list[str]) -> str:
    """The same slices beside a task that is not isolated, by a kernel that is the same."""
    lines = [*_ready(PLAIN), *(_slice(i, command) for i, command in enumerate(commands)),
             "ctl quit 5000 quit", "kill spinner 5000"]
    return "\n".join(lines) + "\n"


def _new(outcome: Outcome, name: str, before: str) -> list[str]:
    """The deadline misses in one of the kernel's lists that were not in the one before."""
    old = readings.misses(outcome, before) or []
    return [miss for miss in readings.misses(outcome, name) or [] if miss not in old]


def _after(outcome: Outcome, slices: int) -> list[str]:
    """What only a deadline delivered behind the last window; a list that was not read."""
    names = [*(f"deliveries.{i}" for i in range(slices)), "deliveries"]
    missed = _new(outcome, "deliveries", f"deliveries.{slices - 1}")
    unread = any(readings.misses(outcome, name) is None for name in names)
    return [*(f"behind the last window: {line}" for line in missed), *[readings.UNREAD] * unread]


def _read(part: Slice, i: int, outcome: Outcome, log: str) -> dict[str, Any] | None:
    window = outcome.windows.get(jobs.TRIGGER + i)
    said = outcome.event("run", f"causes.{i}")
    ran = outcome.event("run", f"slice.{i}")
    if window is None or said is None or ran is None:
        return None
    text = said["out"] or ""
    page = readings.page(outcome, str(i))
    return {
        "about": part.about, "command": part.command, **readings.counts(window),
        "control": instrument.control(outcome), "returned": back(ran), "exit": ran["exit"],
        "seconds": ran["seconds"], "refused": refused(ran),
        "killed": sorted(killed(ran)), "killed_without": None,
        "answers": answers(ran, part.triggers), "missed": page.get("missed"),
        "stood_still_s": round(window["stood_still_ns"] / 1e9, 3),
        "delivered_after_s": (ns := window["delivered_after_ns"]) and round(ns / 1e9, 3),
        "kicks_of_others": window["kicks_of_others"],
        "longest_wait_s": readings.longest(text), "causes": cells.causes(text),
        "unaccounted": cells.accounted(text),
        "deliveries": _new(outcome, f"deliveries.{i}", f"deliveries.{i - 1}"),
        "entry_log": window["log"][:10],
        "kernel_log": [f.text for f in dmesg.scan(dmesg.between(log, f"slice.{i}"))[:10]],
    }


def refused(ran: Event) -> bool:
    """Has what a slice is to run not even begun?"""
    at_once = ran["seconds"] < REFUSED_S
    return ran["exit"] in (126, 127) or bool(
        at_once and (ran["exit"] or _REFUSED.search(ran.get("out") or ""))
    )


def killed(ran: Event) -> set[str]:
    """Which parts of it, or that all of it, did not come to their end by themselves."""
    whole = ran["exit"] == KILLED or ran.get("signal") == signal.SIGKILL
    return {*_KILLED.findall(ran.get("out") or ""), *([WHOLE] if whole else ())}


def answers(ran: Event, due: int) -> list[bool]:
    """What the triggers of a slice said: did each do what it is for?  Silence is no.

    Of a slice that was not run, or was killed, nothing is due.
    """
    said = [word == "true" for word in _WORKED.findall(ran.get("out") or "")]
    lost = 0 if refused(ran) or killed(ran) else due - len(said)
    return said + [False] * lost


def unknown(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Callbacks that no row of the catalogue names: each is proposed as one."""
    known = catalogue.callbacks()
    proposed: dict[str, dict[str, Any]] = {}
    for part in found:
        for cause in part["causes"]:
            name = cause["callback"]
            if name == "-" or name in known:
                continue
            entry = proposed.setdefault(
                name,
                {"callback": name, "senders": [], "counts": {}, "stack": cause["stack"], "in": []},
            )
            for what, n in cause["counts"].items():
                entry["counts"][what] = entry["counts"].get(what, 0) + n
            for key, value in (("senders", cause["sender"]), ("in", part["about"])):
                if value not in entry[key] and len(entry[key]) < TOP:
                    entry[key].append(value)
    return sorted(proposed.values(), key=lambda e: -sum(e["counts"].values()))


def longest(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What waited longest, by callback and sender."""
    worst: dict[tuple[str, str, str], dict[str, Any]] = {}
    for part in found:
        for cause in part["causes"]:
            key = (cause["kind"], cause["callback"], cause["sender"])
            if cause["longest_ns"] > worst.get(key, {"longest_ns": 0})["longest_ns"]:
                worst[key] = {**cause, "in": part["about"]}
    return sorted(worst.values(), key=lambda c: -c["longest_ns"])[:TOP]


def kept_from_ticking(part: dict[str, Any]) -> bool:
    """Did the host keep the task from its ticks for so long that it missed a deadline?

    Nothing came to it but the delivery of what was missed, and nothing waited longer than, right
    before each delivery, the emulated CPU got no time of the host's, and until the next tick.
    Isolator delivers by calls, which others send too: the observer tells whose they are.
    """
    missed, held_s = part["missed"] or 0, part["longest_wait_s"] or math.inf
    stood_s = part["delivered_after_s"] or 0.0
    calls = machine.count(part["entries_by_vector"], "calls")
    delivered = calls == part["kernel_entries"] <= missed and part["kicks_of_others"] == 0
    return missed > 0 and delivered and held_s <= stood_s + TO_TICK_S


def kept_too_often(found: list[dict[str, Any]]) -> str | None:
    """Why nothing is concluded, if so."""
    kept = sum(map(kept_from_ticking, found))
    if kept <= max(1, len(found) // KEPT_ONE_IN):
        return None
    return f"the host kept the task from its ticks in {kept} of {len(found)} slices"


def usual(found: list[dict[str, Any]]) -> float:
    """User instructions a second in most slices, each by its worst one."""
    return float(statistics.median(part["user_per_s"] for part in found)) if found else 0.0


def faults(part: dict[str, Any], usual_per_s: float = 0.0) -> list[str]:
    """What must not be, of one slice."""
    bad = instrument.faults(part, usual_per_s) + claims.ticked(part, claims.MAX_TICK_LOADED)
    if not kept_from_ticking(part):
        if part["kernel_entries"]:
            bad.append(f"{part['kernel_entries']} kernel entries: {part['entries_by_vector']}")
        if part["missed"] != 0:
            bad.append(f"{part['missed']} deadline misses; the host ran nothing of that CPU for "
                       f"{part['stood_still_s']:.2f} s at most")
            bad += [f"missed: {line}" for line in part["deliveries"][:3]]
    outside = len(part["deliveries"]) - (part["missed"] or 0)
    if outside > 0:
        bad.append(f"{outside} deadline misses outside its window: {part['deliveries'][0]}, ...")
    if part["killed"] and part["killed_without"] is False:
        bad.append("killed, as it did not end by itself; some of it ended without isolation: "
                   f"{', '.join(part['killed'])}")
    if not part["returned"]:
        bad.append(f"did not come back in {part['seconds']:.0f} s")
    held_s = part["longest_wait_s"]
    # What the host kept it from is named, however long.
    if not kept_from_ticking(part) and (held_s is None or held_s > matrixclaims.MAX_WAIT_S):
        bad.append(f"a wait of {held_s} s, not at most {matrixclaims.MAX_WAIT_S} s")
    bad += [f"not accounted for: {text}" for text in part["unaccounted"]]
    bad += [f"kernel log: {line}" for line in part["kernel_log"][:3]]
    return [f"{part['about']}: {text}" for text in bad]


def broken(report: dict[str, Any]) -> list[str]:
    usual_per_s = usual(report["slices"])
    bad = [text for part in report["slices"] for text in faults(part, usual_per_s)]
    idle = [part["about"] for part in report["slices"] if part["refused"]]
    if len(idle) > max(1, len(report["slices"]) // IDLE_ONE_IN):
        bad.append(f"{len(idle)} of {len(report['slices'])} slices did not run: {idle[0]}, ...")
    said = [worked for part in report["slices"] for worked in part["answers"]]
    if sum(said) < MIN_WORKED * len(said):
        bad.append(f"only {sum(said)} of {len(said)} triggers did what they are for")
    bad += [f"unknown callback {e['callback']}: {e['in'][0]}" for e in report["unknown"]]
    bad += attempt.broken(report["attempts"])
    return bad


def _text(report: dict[str, Any]) -> str:
    lines = [
        f"{len(report['slices'])} slices, {report['seconds_hunted']:.0f} s, seed {report['seed']}"
    ]
    entries = sum(p["kernel_entries"] for p in report["slices"])
    missed = sum(p["missed"] or 0 for p in report["slices"])
    lines.append(f"{entries} kernel entries, {missed} deadline misses; longest waits:")
    for cause in report["longest"]:
        what = cause["callback"] if cause["callback"] != "-" else cause["kind"]
        lines.append(
            f"  {cause['longest_ns'] / 1e6:8.1f} ms  {what} from {cause['sender']} ({cause['in']})"
        )
    lines += [
        f"missed as the host ran nothing of it for {p['delivered_after_s']:.2f} s: {p['about']}"
        for p in report["slices"] if kept_from_ticking(p)
    ]
    lines += [f"did not begin: {p['about']}" for p in report["slices"] if p["refused"]]
    for entry in report["unknown"]:
        lines += [
            f"proposed as a row of the catalogue: {entry['callback']} {entry['counts']} "
            f"from {', '.join(entry['senders'])}",
            *(f"      {frame}" for frame in entry["stack"]),
        ]
    return "\n".join(lines)


def _attempt(batch: list[Slice], outcome: Outcome) -> tuple[list[dict[str, Any]], attempt.Record]:
    """The slices that one guest came to, and the guest itself: what it showed beside them."""
    judged = attempt.judge(outcome)
    found, log, closed = [], judged.log, set()
    for i, part in enumerate(batch):
        if read := _read(part, i, outcome, judged.log):
            found.append(read)
            log = dmesg.outside(log, f"slice.{i}")
            closed.add(jobs.TRIGGER + i)
    if not judged.void and len(found) < len(batch):
        ended = judged.ended or "windows are missing"
        judged = replace(judged, ended=f"{ended}, in: {batch[len(found)].about}")
    entered = attempt.entered(outcome, closed)
    if not judged.over:
        entered += _after(outcome, len(batch))
    return found, {**attempt.record(judged, entered, log), "slices": len(found)}


def _over(event: Event) -> str | None:
    """Why a guest of ours need not run on, by this event alone."""
    return attempt.judge(Outcome(events=[event], ours=True)).over


def _hunt(
    built: Kernel, seed: int, seconds: float
) -> tuple[list[dict[str, Any]], list[attempt.Record], str | None]:
    """The slices, the guests, and why it ended ahead of its time, if so."""
    found: list[dict[str, Any]] = []
    attempts: list[attempt.Record] = []
    initramfs.cross_compiler(built.machine)
    extra = selftests.directory(built.machine)
    source, spoilt, begin = slices(seed, built.machine), 0, time.monotonic()
    batch: list[Slice] = []
    early = None

    def on_event(event: Event) -> str | None:
        if event["event"] == "run" and event["name"].startswith("slice."):
            i = int(event["name"].split(".")[1])
            term.say(f"{batch[i].about}: {event['seconds']:.1f} s")
        return _over(event)

    while True:
        left = seconds - (time.monotonic() - begin)
        # What was running when the emulator failed is run again.
        again = bool(attempts) and attempts[-1]["excused"]
        if left <= 0 and not again:
            break
        if spoilt == attempt.MAX_BOOTS or attempt.excused_too_often(attempts):
            early = f"it ended {max(left, 0):.0f} s early, as {spoilt} boots were void or ended"
            break
        threads = attempt.threads(attempts[-1:])
        slower = attempt.slower(threads)
        if not again:
            batch = [next(source) for _ in range(max(1, int(min(left, BOOT_S) / (SLICE_S + 2))))]
        guest = Guest(built, _job(batch, slower), append=jobs.common(built.machine),
                      memory="2G", extra=extra, boot_s=30 * slower,
                      silence_s=(SLICE_S + 100) * slower,
                      total_s=(60 + len(batch) * (KILL_S + 10)) * slower, threads=threads)
        where = OUT / "hunt" / f"{built.machine.prefix}boot-{len(attempts) + 1}"
        outcome = boot(guest, where, on_event)
        got, said = _attempt(batch, outcome)
        found += got
        attempts.append(said)
        if said["void"] or said["ended"]:
            spoilt += 1
            term.say(f"{'void' if said['void'] else 'ended'}: {said['void'] or said['ended']}")
    return found, attempts, early


def _without(
    built: Kernel, parts: list[dict[str, Any]], attempts: list[attempt.Record]
) -> None:
    """Slices that were killed, once more beside a task that is not isolated: as there, too?"""
    if not parts:
        return
    term.say(f"{len(parts)} slices did not end by themselves: the same without isolation")
    guest = Guest(built, _plain_job([part["command"] for part in parts]),
                  append=jobs.common(built.machine), memory="2G",
                  extra=selftests.directory(built.machine), boot_s=30, silence_s=SLICE_S + 100,
                  total_s=60 + len(parts) * (KILL_S + 10))
    outcome = boot(guest, OUT / "hunt" / f"{built.machine.prefix}without", _over)
    found = attempt.judge(outcome)
    attempts.append({**attempt.record(found), "slices": 0})
    for i, part in enumerate(parts):
        ran = outcome.event("run", f"slice.{i}")
        if ran and back(ran) and not found.void:
            part["killed_without"] = _as_much(set(part["killed"]), killed(ran))


def _as_much(here: set[str], there: set[str]) -> bool | None:
    """Was all that was killed @here killed @there?  Of one killed as a whole no part is known."""
    return True if here <= there else None if WHOLE in there else False


def untried(found: list[dict[str, Any]]) -> str | None:
    """Why nothing is concluded, if so."""
    many = sum(bool(part["killed"]) and part["killed_without"] is None for part in found)
    return f"of {many} slices it is not known what is killed without isolation" if many else None


def too_little(found: list[dict[str, Any]], seconds: float) -> str | None:
    """Why nothing is concluded, if so."""
    if not found:
        return "nothing was measured; see out/hunt"
    if len(found) * SLICE_S < MIN_OF_TIME * seconds:
        return f"only {len(found)} slices of {SLICE_S:g} s in {seconds:.0f} s"
    return None


def main(
    minutes: float, flavour: str, seed: int | None, arch: str = machine.X86_64.name
) -> int:
    seed = seed if seed is not None else int(time.time())
    of = machine.named(arch)
    built = kernel.build(flavour, of=of)
    term.say(f"hunting for {minutes:g} minutes, seed {seed} (--seed repeats it)")
    found, attempts, early = _hunt(built, seed, minutes * 60)
    _without(built, [part for part in found if part["killed"]][:MOST_TRIED], attempts)
    report: dict[str, Any] = {
        **record.head("hunt"), **record.where(of.target),
        "kernel": {"name": built.name, "release": built.version, "build": built.path.name},
        "seed": seed, "minutes": minutes, "boots": len(attempts), "attempts": attempts,
        "seconds_hunted": round(sum(p["window_s"] for p in found), 1), "slices": found,
        "longest": longest(found), "unknown": unknown(found),
    }
    report["broken"] = broken(report)
    record.write(report, f"hunt{of.suffix}")
    print(_text(report))
    for claim in report["broken"]:
        print(term.colour(f"does not hold: {claim}", "31"))
    doubt = (attempt.excused_too_often(attempts) or early or kept_too_often(found)
             or untried(found) or too_little(found, minutes * 60))
    if doubt and not report["broken"]:
        print(f"inconclusive: {doubt}")
        return term.INCONCLUSIVE
    print(f"out/hunt{of.suffix}.json; {term.elapsed():.0f} s")
    usual_per_s = usual(found)
    bad = [bool(faults(part, usual_per_s)) for part in found]
    failed = sum(bad)
    others = len(report["unknown"]) + len(attempt.broken(attempts))
    # What did not begin has shown nothing, unless of the task beside it.
    idle = sum(part["refused"] and not wrong for part, wrong in zip(found, bad, strict=True))
    print(f"{len(found) - failed - idle} passed, {failed + others} failed, {idle} skipped")
    return term.EXCEEDED if report["broken"] else term.PASS
