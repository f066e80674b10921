# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/bench-measure.md, from what bench/measure.py measured."""

from typing import Any

NAMES = {
    "p50_ns": "p50, ns late",
    "p99_ns": "p99, ns late",
    "gaps_per_s": "gaps over 10 us, a second",
    "lost_us_per_s": "lost in them, us a second",
}
VERDICTS = {0: "passed", 2: "**exceeded**", 3: "inconclusive"}


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"


def bars(part: dict[str, Any], theirs: str) -> list[str]:
    """A row for each bar of one part."""
    return [f"| {NAMES[bar['name']]} | {theirs} | {_number(bar['theirs'])} | "
            f"{_number(bar['isolator'])} | {_number(bar['difference'])} | "
            f"{_number(bar['spread'] if bar['most'] is None else bar['most'])} | "
            f"{_number(bar['spread'])} | {VERDICTS[bar['code']]} |" for bar in part["bars"]]


def cost(part: dict[str, Any]) -> list[str]:
    """A row for each way to measure."""
    return [f"| {row['about']} | {row['user']:.0f} | {row['kernel']:.0f} | {row['total']:.0f} | "
            f"{'–' if row['ratio'] is None else format(row['ratio'], '.3f')} |"
            for row in part.get("result", {}).get("costs", [])]


def measured(part: dict[str, Any]) -> str:
    """When, from what, beside what."""
    load = part["load"]
    return (f"{part['when'][:10]}, commit {part['commit']}, load before {load['before']:.1f}, "
            f"after {load['after']:.1f}")


def page(report: dict[str, Any]) -> str:
    """@report has all parts."""
    parts, where = report["parts"], report["machine"]
    exact, latency, undisturbed, noise, cost_part = (
        parts[name] for name in ("exact", "latency", "guest", "noise", "cost"))
    live = "\n".join(bars(latency, "cyclictest") + bars(noise, "oslat"))
    guest = "\n".join(bars(undisturbed, "cyclictest"))
    instructions = "\n".join(cost(cost_part))
    return f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- written by tools/bench measure -->
# isolator measure beside cyclictest and oslat

```
tools/bench measure
```

## Live, in turn

| | beside | theirs | isolator | difference | allowed | theirs against itself | |
| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |
{live}

All figures are medians. A round is theirs, ours, ours, theirs. The difference is the median of our
run minus the run of theirs next to it, two a round.

- Latency: {len(latency['rounds'])} rounds, runs of {latency['samples']} wake-ups, one each ms, on
  CPU {latency['cpu']}, policy {latency['policy']}; {measured(latency)}.
- Noise: {len(noise['rounds'])} rounds, runs of {noise['seconds']} s of a loop on
  CPU {noise['cpu']}, policy {noise['policy']}; {measured(noise)}.

*Theirs against itself* is what that median would be by chance, in 99 % of all cases, if ours were
another run of theirs. Between two rounds, two runs of theirs follow each other. From their
differences as many as ours are drawn, each with a random sign, because either of two neighbours
could be called ours; this is done 10 000 times. Ours must lie within that range; p50 is allowed
1 us instead. The result is inconclusive if theirs differs from itself by more than the allowed
difference, or by more than its own figure, because a miss could not be noticed then.

Both wait by `clock_nanosleep` for absolute times a period apart (`--phase fixed`), and leave out
times that have passed already (`--late missing`). cyclictest counts ns here (`-N`) and changes no
settings of the machine (`--default-system`). A loop of policy idle keeps the CPU from halting
during the runs, because the time that a host takes to wake a virtual CPU changes from minute to
minute. Values beyond the end of its histogram, 1 ms, and of oslat's, 1024 us, count as that limit
in both; each run says how many there were.

## The same without a host

| | beside | theirs | isolator | difference | allowed | theirs against itself | |
| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |
{guest}

{len(undisturbed['rounds'])} rounds of the same commands in a guest of one CPU whose time follows
its instructions ({undisturbed['emulator']}; Linux {undisturbed['kernel']['release']}, PREEMPT_RT;
`tools/isolab live`), so nobody except the guest takes time. cyclictest repeats itself so well there
that only the kernel's way out of idle remains. That depends on the other timers that wait: the main
thread of cyclictest wakes 100 times a second, that of `isolator measure` once. For this p99 is
allowed 1 us, as p50 is. {measured(undisturbed)}.

## One recorded series, fed to both

{exact['text'][0].upper() + exact['text'][1:]}; {measured(exact)}.
The test is `{exact['test']}`.

## What a sample costs

| | user | kernel | both | of cyclictest |
| --- | ---: | ---: | ---: | ---: |
{instructions}

The table shows instructions a sample, counted by the lab's observer in a guest with one CPU, whose
time follows its instructions (`tools/isolab cost sample`): a run of 2500 samples minus one of 500,
medians of the rounds. They include everything that the program does, in its main thread too.
cyclictest's main thread checks 100 times a second whether it must end. That of `isolator measure`
does so once a second, and then copies and judges the results: it has more instructions in user mode
and fewer entries into the kernel. Its measuring thread alone also has more in user mode than
cyclictest's, because it keeps the largest values with their times and a timeline, and draws random
phases. The system call of a sleep is the same for both, and most of the cost.

{cost_part['text'][0].upper() + cost_part['text'][1:]}.
{measured(cost_part)}.

## Where

{where['cpu']}, Linux {where['kernel']}, virtual machine: {where['virtual']};
rt-tests {report['rt_tests']}. Each run is in `out/measure-bench.json`, with the load of its
moment. If there was a load before, other programs used the same CPUs, and the figures of both
programs are those of a busy machine.
"""
