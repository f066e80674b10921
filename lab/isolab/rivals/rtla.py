# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab rtla: planted causes, named by isolator measure --why and by rtla's auto-analysis."""

import json
import subprocess
from pathlib import Path
from typing import Any

from .. import record, term
from ..guests import distro, initramfs
from ..guests.guest import Event, Guest, Outcome, boot
from ..judge import attempt, jobs
from ..paths import BUILD, LAB, OUT

SCRIPT = LAB / "host" / "rtla"
RESULT = "/run/rtla.json"
MAX_BOOTS = 3
SECONDS = 600
TOOLS = ("isolator", "rtla")


def _programs() -> dict[str, bytes]:
    """rtla, and what plants causes."""
    done = subprocess.run([str(SCRIPT)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise term.LabError(f"cannot build rtla: {SCRIPT} failed, see above")
    inject = BUILD / "lab" / "guest" / "root" / "lab" / "bin" / "inject"
    with initramfs.building(BUILD):
        initramfs.make(LAB / "guest" / "causes", inject.parent, "the guest's causes")
    rtla = Path(done.stdout.strip().splitlines()[-1]) / "bin" / "rtla"
    return {"lab/bin/rtla": rtla.read_bytes(), "lab/bin/inject": inject.read_bytes()}


def job() -> str:
    return "\n".join(
        [
            jobs.FACTS,
            "run settled 120000 udevadm settle; systemctl is-system-running --wait",
            f"run rtla {SECONDS * 1000} exec python3 /lab/tests/rtla.py {RESULT}",
            f"whole rtla {RESULT}", "",
        ]
    )


def counted(causes: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, int]]]:
    """Cause by cause: how often it was above the threshold, and named."""
    table = {}
    for cause in causes:
        row = {}
        for tool in TOOLS:
            seen = [r[tool] for r in cause["rounds"] if r[tool]["named"] is not None]
            row[tool] = {"seen": len(seen), "named": sum(r["named"] for r in seen)}
        table[cause["name"]] = row
    return table


def _boot(number: int) -> tuple[dict[str, Any] | None, str, Outcome]:
    where = OUT / "rtla" / f"boot-{number}"
    guest = Guest(
        distro.kernel("rt"),
        job(),
        append=distro.APPEND,
        observe=False,
        want_kvm=True,
        undisturbed=True,
        spare_port=True,
        boot_s=240,
        silence_s=SECONDS + 30,
        total_s=SECONDS + 300,
        files=_programs(),
    )

    def progress(event: Event) -> str | None:
        return attempt.no_clocks(Outcome(events=[event]))

    outcome = boot(guest, where, progress)
    void = attempt.judge(outcome).void
    text = "".join(e["text"] for e in outcome.events if e["event"] == "part")
    try:
        return (None if void else json.loads(text)), void or "", outcome
    except ValueError as e:
        ran = outcome.event("run", "rtla") or {}
        raise term.LabError(
            f"the guest has no result: {e}; {ran.get('out')} {outcome.died or ''}; see {where}"
        ) from e


def _text(report: dict[str, Any]) -> str:
    lines = [f"{'cause':10} {'isolator --why':16} {'rtla -a':16} what it is"]
    for cause in report["causes"]:
        row = report["table"][cause["name"]]
        said = [f"{row[tool]['named']} of {row[tool]['seen']} named" for tool in TOOLS]
        lines.append(f"{cause['name']:10} {said[0]:16} {said[1]:16} {cause['about']}")
    for tool in TOOLS:
        exits = sorted(
            {
                r[tool]["exit"]
                for cause in report["causes"]
                for r in cause["rounds"]
                if r[tool]["named"] is not None
            }
        )
        lines.append(f"exit status above the threshold: {tool} {' or '.join(map(str, exits))}")
    return "\n".join(lines)


def broken(report: dict[str, Any]) -> list[str]:
    """What does not hold: ours names each, and ends with 2 as its limit was exceeded."""
    found = [f"kernel log: {line}" for line in report["kernel_log"]]
    for cause in report["causes"]:
        row = report["table"][cause["name"]]["isolator"]
        if row["named"] < row["seen"] or not row["seen"]:
            found.append(f"{cause['name']}: isolator named {row['named']} of {row['seen']}")
        found += [
            f"{cause['name']}: isolator ended with {r['isolator']['exit']} above its limit"
            for r in cause["rounds"]
            if r["isolator"]["named"] is not None and r["isolator"]["exit"] != term.EXCEEDED
        ]
    return found


def main() -> int:
    attempts: list[str] = []
    result = None
    for number in range(1, MAX_BOOTS + 1):
        result, void, outcome = _boot(number)
        attempts.append(void)
        if result:
            break
        term.say(f"void: {void}")
    if not result:
        print(f"inconclusive: no guest came to its end: {attempts[-1]}")
        return term.INCONCLUSIVE
    report: dict[str, Any] = {
        **record.head("rtla"), **record.where(),
        "kernel": (distro.image() / "rt" / "packages").read_text().strip(), **result,
        "table": counted(result["causes"]), "kernel_log": [f.text for f in outcome.findings],
        "attempts": attempts,
    }
    report["broken"] = broken(report)
    record.write(report)
    print(_text(report))
    for claim in report["broken"]:
        print(term.colour(f"does not hold: {claim}", "31"))
    print(f"out/rtla.json; {term.elapsed():.0f} s")
    return term.EXCEEDED if report["broken"] else term.PASS
