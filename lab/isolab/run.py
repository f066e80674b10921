# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab run: three configurations side by side, judged and reported."""

import json
from typing import Any

import jsonschema
from isolator_report import schemafile

from . import header, html, record, table, term
from .guests import kernel, machine, observer, qemu
from .guests.guest import Event, Outcome, boot
from .guests.kernel import Kernel
from .guests.machine import Machine
from .header import Trigger
from .judge import attempt, claims, jobs, readings
from .judge.jobs import CONFIGS, Config
from .paths import OUT, SCHEMAS

# How long the task runs without a tick in a boot that makes some triggers once more.
AGAIN_NO_TICK_S = 1.0


class NoResult(Exception):
    """A configuration has no result: it ended by itself, or every boot was void."""

    def __init__(self, text: str, attempts: list[attempt.Record]) -> None:
        super().__init__(text)
        self.attempts = attempts


def _boot(config: Config, built: Kernel, triggers: list[Trigger], no_tick_s: float,
          attempts: list[attempt.Record]) -> Outcome:
    where = OUT / "run" / f"{built.machine.prefix}{config.name}-{len(attempts) + 1}"
    log = where / "observer.json"

    early = Outcome(ours=config.isolates)

    def on_event(event: Event) -> str | None:
        text = readings.progress(config, event)
        if text:
            term.say(text)
        # What is void or over already need not run to its end.
        early.events.append(event)
        if event["event"] == "ctl" and event["name"] == "end.quiet":
            early.windows = observer.read(built, log)[0]
        return readings.judge(config, early).over

    threads = attempt.threads(attempts)
    outcome = boot(jobs.guest(config, built, triggers, no_tick_s, threads), where, on_event)
    found = readings.judge(config, outcome, readings.closes(config, triggers))
    # Of a boot that counts the claims judge the windows, but not the control.
    judged = () if found.over else outcome.windows
    entered = attempt.entered(outcome, judged) if config.isolates else ()
    attempts.append(
        {
            "attempt": len(attempts) + 1, **attempt.record(found, entered),
            "seconds": round(outcome.seconds, 1), "boot_seconds": round(outcome.boot_seconds, 1),
            "accel": outcome.accel, "files": str(where.relative_to(OUT)),
        }
    )
    return outcome


def _measure(
    config: Config, built: Kernel, triggers: list[Trigger], no_tick_s: float
) -> dict[str, Any]:
    attempts: list[attempt.Record] = []
    while True:
        outcome = _boot(config, built, triggers, no_tick_s, attempts)
        last = attempts[-1]
        if last["ended"]:
            raise NoResult(f"{config.name}: the guest ended: {last['ended']}", attempts)
        if not last["void"]:
            break
        term.say(f"{config.name}: attempt {len(attempts)} is void: {last['void']}")
        if why := attempt.excused_too_often(attempts):
            raise NoResult(f"{config.name}: {why} (see {OUT}/run)", attempts)
        if len(attempts) == attempt.MAX_BOOTS:
            raise NoResult(
                f"{config.name}: {len(attempts)} boots, all void; "
                f"the last: {last['void']} (see {OUT}/run)",
                attempts,
            )
    found = readings.result(config, triggers, outcome, built.machine)
    found["attempts"] = attempts
    found["kernel"] = {
        "name": built.name, "release": built.version, "build": built.path.name, "hz": built.hz,
    }
    return found


def _pick(names: list[str], of: Machine) -> tuple[list[Trigger], list[Trigger]]:
    """The triggers of a run, and those that are left out as @of has not what they need."""
    everything = header.triggers()
    unknown = set(names) - {t.name for t in everything}
    if unknown:
        raise term.LabError(
            f"no trigger {', '.join(sorted(unknown))}; they are the files of lab/triggers"
        )
    # The rest of them is the matrix.
    wanted = [t for t in everything if (t.name in names if names else "run" in t.used_in)]
    return [t for t in wanted if of.name in t.arch], [t for t in wanted if of.name not in t.arch]


def _again(report: dict[str, Any], built: Kernel, triggers: list[Trigger]) -> None:
    """Makes those triggers of the isolating configuration once more that took too long."""
    isolator = report["configs"]["isolator"]
    late = claims.late(report["configs"])
    if not late:
        return
    term.say(f"once more, as they took longer than they may: {', '.join(late)}")
    config = next(c for c in CONFIGS if c.isolates)
    isolator["again"] = _measure(
        config, built, [t for t in triggers if t.name in late], AGAIN_NO_TICK_S)


def main(
    only: list[str] | None, trigger_names: list[str], no_tick_s: float,
    arch: str = machine.X86_64.name, preemption: str = "rt",
) -> int:
    of = machine.named(arch)
    triggers, left_out = _pick(trigger_names, of)
    configs = [c for c in CONFIGS if not only or c.name in only]
    kernels = {
        stock: kernel.build(preemption, stock, of=of)
        for stock in sorted({c.stock for c in configs}, reverse=True)
    }
    emulator = qemu.pick(of.target)
    for trigger in left_out:
        term.say(f"left out: {trigger.name}: {of.name} lacks {trigger.needs}")
    term.say(
        f"QEMU {emulator.version} ({emulator.name}), emulation with thread={emulator.threads}: "
        "the observer needs emulation"
    )
    term.say(f"{len(configs)} configurations, {len(triggers)} triggers each")
    report: dict[str, Any] = {**record.head("run"), **record.where(of.target), "configs": {}}
    inconclusive = None
    broken: list[str] = []
    for config in configs:
        try:
            found = _measure(config, kernels[config.stock], triggers, no_tick_s)
            report["configs"][config.name] = found
            if config.isolates:
                broken = claims.attempts(found["attempts"])
        except NoResult as e:
            inconclusive = str(e)
            if config.isolates:
                broken = claims.attempts(e.attempts)
            break
    complete = (
        not only and not trigger_names and no_tick_s >= claims.MIN_NO_TICK_S and not inconclusive
    )
    if complete:
        try:
            _again(report, kernels[False], triggers)
        except NoResult as e:
            report["configs"]["isolator"]["attempts"] += e.attempts
        broken = claims.broken(report["configs"])
    report["judged"], report["broken"], report["inconclusive"] = complete, broken, inconclusive
    report["seconds"] = round(term.elapsed(), 1)
    OUT.mkdir(exist_ok=True)
    if complete:
        jsonschema.validate(report, schemafile.read(SCHEMAS / "run.json"))
    (OUT / f"run{of.suffix}.json").write_text(json.dumps(report, indent=1) + "\n")
    (OUT / f"run{of.suffix}.html").write_text(html.page(report))
    print(table.text(report))
    for claim in broken:
        print(term.colour(f"does not hold: {claim}", "31"))
    if inconclusive:
        print(f"no result: {inconclusive}")
        return term.EXCEEDED if broken else term.INCONCLUSIVE
    if complete and not broken:
        print(term.colour("Every claim holds.", "32"))
    print(f"out/run{of.suffix}.json, out/run{of.suffix}.html; {report['seconds']:.0f} s")
    return term.EXCEEDED if broken else term.PASS
