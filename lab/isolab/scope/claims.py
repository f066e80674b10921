# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run of triggers has to be: accounted for, rightly attributed, in order."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from isolator_report.percentile import by_rank
from isolator_scope.account import Account
from isolator_scope.chain import TRIGGER, Hop, Place, Usual, culprit
from isolator_scope.chain import chain as chain_of
from isolator_scope.protocol import ANSWER_LATE, ANSWER_UNSURE

from .host import MISSING, Run
from .lines import WRAP, Lines

# Looks at the lines, of the generator: two answers that are nearer have no order.
LOOKS = 16
# Of the triggers so many may be against the table: one that comes amid softirqs may find one of
# a pair's turn over, and irq_poll leaves `softirq` to the next round where jiffies advance as it
# begins.
RARE = 0.002
DEVIATIONS = 3  # of a count that is that rare: the fewer triggers, the wider it varies


@dataclass(frozen=True)
class Claim:
    """Something that has to be so, of one part; `said`: what was found."""

    part: str
    claim: str
    held: bool
    said: str = ""

    def json(self) -> dict[str, Any]:
        return asdict(self)


def figures(run: Run, line: int) -> dict[str, Any]:
    """One mechanism's, in one run."""
    values = sorted(ns for ns in run.ns.get(line, ()) if ns != MISSING)
    flags = run.flags.get(line, b"")
    due = sum(mask >> line & 1 for mask in run.masks)
    missing = due - len(values)
    return {
        "triggers": due, "answered": len(values) - sum(flag & ANSWER_LATE for flag in flags),
        "late": sum(flag & ANSWER_LATE for flag in flags), "missing": missing,
        "unsure": sum(bool(flag & ANSWER_UNSURE) for flag in flags),
        "min_ns": values[0] if values else None,
        "mean_ns": round(sum(values) / len(values)) if values else None,
        "p50_ns": by_rank(values, 50, missing), "p99_ns": by_rank(values, 99, missing),
        "max_ns": values[-1] if values else None,
    }


def lacking(rows: Mapping[str, Mapping[str, Any]]) -> float:
    """The largest share, of any mechanism, that was late or missing."""
    return max(
        ((r["late"] + r["missing"]) / r["triggers"] for r in rows.values() if r["triggers"]),
        default=1.0,
    )


Counts = dict[int, tuple[int, int, int, int]]


def counts(account: Account) -> Counts:
    """Of the host: by line, answered, late, missing, strays."""
    return dict(enumerate(account.totals()))


def accounted(
    part: str, run: Run, names: Mapping[str, int], before: Counts, after: Counts
) -> list[Claim]:
    """By the host's account: nothing is lost, and none is counted twice."""
    wrong = []
    for name, line in names.items():
        old = before.get(line, (0, 0, 0, 0))
        answered, late, missing, _ = (b - a for a, b in zip(old, after[line], strict=True))
        row = figures(run, line)
        if answered + late + missing != row["triggers"]:
            wrong.append(
                f"{name}: {answered} answered + {late} late + {missing} missing "
                f"of {row['triggers']}"
            )
        elif (answered, late, missing) != (row["answered"], row["late"], row["missing"]):
            wrong.append(f"{name}: the account has {answered}, {late}, {missing}, the records not")
    if run.others:
        wrong.append(f"{run.others} gaps")
    return [
        Claim(part, "triggers = answered + late + missing, for each mechanism", not wrong,
              "; ".join(wrong) or f"{len(run)} triggers, {len(names)} mechanisms")
    ]


def attributed(
    part: str, run: Run, names: Mapping[str, int], lines: Lines, base: int, strays: bool = False
) -> list[Claim]:
    """Against what the target wrote, sequence by sequence.

    @base: the sequence before the session's first trigger.  @strays: there may be some, as
    after a generator has begun anew.
    """
    wrong, answers = [], 0
    for name, line in names.items():
        raw = lines.sequences[line]
        wrote = [(sequence - base) % WRAP for sequence in raw]
        told = run.numbers(line)
        alone = [(stray.sequence - base) % WRAP for stray in run.strays if stray.line == line]
        answers += len(wrote)
        if lines.lost[line]:
            wrong.append(f"{name}: {lines.lost[line]} answers were overwritten before the lab saw")
        elif any(not 0 < (b - a) % WRAP < WRAP // 2 for a, b in zip(raw, raw[1:], strict=False)):
            wrong.append(f"{name}: the target did not answer in order, each trigger once")
        elif sorted(wrote) != sorted([*told, *alone]):
            odd = sorted(set(wrote) ^ {*told, *alone})
            wrong.append(
                f"{name}: the target wrote {len(wrote)} answers, the records have {len(told)}; "
                f"differ: {', '.join(map(str, odd[:5]))}"
            )
    if lines.ahead:
        wrong.append(f"{lines.ahead} answers were there before their triggers")
    if run.strays and not strays:
        wrong.append(f"{len(run.strays)} answers belong to no trigger")
    return [
        Claim(part, "each answer is counted for the trigger whose sequence the target wrote",
              not wrong, "; ".join(wrong) or f"{answers} answers, {len(run.strays)} strays")
    ]


def counted(
    part: str, run: Run, names: Mapping[str, int], before: dict[str, int], after: dict[str, int]
) -> list[Claim]:
    """Against the driver's own counts, of the mechanisms that it answers for itself."""
    wrong = []
    for name in sorted(set(names) & set(after) - {"poll"}):
        told = len(run.numbers(names[name]))
        own = after[name] - before[name]
        if told != own:
            wrong.append(f"{name}: the driver counted {own} answers, the host {told}")
    return [Claim(part, "the driver counted as many answers", not wrong, "; ".join(wrong))]


def clear(run: Run, names: Mapping[str, int]) -> list[int]:
    """Places of triggers that had the machine for themselves.

    All answers of the one before had come, all of its own came before the next, and of
    neither one is missing.
    """
    wanted = list(names.values())
    found: list[int] = []
    over = -1  # when the last answer to the one before was there; -1: that is not known
    for i, at in enumerate(run.at):
        values = [run.ns[line][i] for line in wanted]
        late = any(run.flags[line][i] & ANSWER_LATE for line in wanted)
        whole = MISSING not in values and not late
        if whole and 0 <= over <= at:
            found.append(i)
        over = at + max(values) if MISSING not in values else -1
    return found


def order(
    run: Run, names: Mapping[str, int], table: Mapping[str, Place], resolution_ns: int
) -> list[dict[str, Any]]:
    """For each mechanism and what it comes after by the table: how often it did so.

    Only triggers that had the machine for themselves, and pairs of which the generator saw the
    earlier answer at once: the other one was not there then, however late it was seen.
    """
    error = LOOKS * resolution_ns
    places = clear(run, names)
    rows = []
    for then, place in table.items():
        first = place.after
        while first != TRIGGER and first not in names:
            first = table[first].after
        if then not in names or first == TRIGGER:
            continue
        a, b, c = names[first], names[then], names.get(place.instead)
        after = against = near = unsure = instead = 0
        for i in places:
            apart = run.ns[b][i] - run.ns[a][i]
            if run.flags[a if apart >= 0 else b][i] & ANSWER_UNSURE:
                unsure += 1
                continue
            after += apart > error
            near += abs(apart) <= error
            before = c is not None and run.ns[c][i] > run.ns[b][i]
            instead += apart < -error and before
            against += apart < -error and not before
        rows.append(
            {
                "first": first, "then": then, "after": after, "near": near, "against": against,
                "unsure": unsure, "instead": instead if c is not None else None,
            }
        )
    return rows


def ordered(row: Mapping[str, Any], least: int) -> Claim:
    """One row of order(): one observation is no order, @least are.

    The table's other order counts among them: the slower the host, the more often it takes
    place, as more triggers meet a softirq.  It alone shows nothing of the usual one.
    """
    rare = RARE * (row["after"] + row["against"])
    said = f"{row['after']} times; {row['near']} too near to tell, {row['against']} against"
    if row["instead"] is not None:
        said += f", {row['instead']} as the table has it instead"
    return Claim(
        "order",
        f"{row['then']} comes after {row['first']}"
        + ("" if row["instead"] is None else ", or else as the table says"),
        row["against"] <= rare + DEVIATIONS * math.sqrt(rare)
        and row["after"] > 0
        and row["after"] + (row["instead"] or 0) >= least,
        said,
    )


def hops(run: Run, names: Mapping[str, int], table: Mapping[str, Place]) -> Iterator[list[Hop]]:
    """Of each trigger whose answers all came, as the chain view has them."""
    titles = ["" for _ in range(max(names.values()) + 1)]
    for name, line in names.items():
        titles[line] = name
    for i in clear(run, names):
        yield chain_of([(line, run.ns[line][i], False) for line in names.values()], titles, table)


def named(
    chains: Iterable[list[Hop]], table: Mapping[str, Place], known: Mapping[str, Usual]
) -> dict[str, int]:
    """Which hop the chain view names, trigger by trigger, where one is unusual."""
    found: dict[str, int] = {}
    for one in chains:
        hop = culprit(one, table, known)
        if hop:
            found[hop.name] = found.get(hop.name, 0) + 1
    return found
