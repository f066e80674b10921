# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/bench-measure.md, from what bench/measure.py measured."""

from __future__ import annotations

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

Medians. A round is theirs, ours, ours, theirs; the difference is the median of ours less the run of
theirs beside it, two a round.

- Latency: {len(latency['rounds'])} rounds, runs of {latency['samples']} wake-ups, one each ms, on
  CPU {latency['cpu']}, policy {latency['policy']}; {measured(latency)}.
- Noise: {len(noise['rounds'])} rounds, runs of {noise['seconds']} s of a loop on
  CPU {noise['cpu']}, policy {noise['policy']}; {measured(noise)}.

*Theirs against itself*: what that median would be by chance, in 99 % of all cases, if ours were a
second one of theirs. From round to round two runs of theirs follow each other. As many of their
differences as there are of ours are drawn, with either sign, since which of two neighbours is
called ours would be a toss; 10 000 times. Ours must lie within; p50 is allowed 1 us instead.
Where theirs is further from itself than what is allowed, or than its own figure, the bar would not
be seen missed: inconclusive.

Both wait by `clock_nanosleep` for absolute times a period apart (`--phase fixed`) and do without
those that they ran over (`--late missing`). cyclictest counts ns here (`-N`) and sets nothing of
the machine (`--default-system`). A loop of policy idle keeps the CPU from halting meanwhile: how
long a host takes to wake a virtual CPU changes from minute to minute. What is beyond the end of
its histogram, 1 ms, and of oslat's, 1024 us, counts as so much in both; each run says how
many there were.

## The same without a host

| | beside | theirs | isolator | difference | allowed | theirs against itself | |
| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |
{guest}

{len(undisturbed['rounds'])} rounds of the same commands in a guest of one CPU whose time follows
its instructions ({undisturbed['emulator']}; Linux {undisturbed['kernel']['release']}, PREEMPT_RT;
`tools/isolab live`): nobody takes time but the guest. cyclictest repeats itself so well there that
what is left is the kernel's way out of idle, which depends on what other timers wait: the main
thread of cyclictest wakes 100 times a second, the isolator's once. p99 is allowed 1 us for it, as
p50 is. {measured(undisturbed)}.

## One recorded series, fed to both

{exact['text'][0].upper() + exact['text'][1:]}; {measured(exact)}.
The test is `{exact['test']}`.

## What a sample costs

| | user | kernel | both | of cyclictest |
| --- | ---: | ---: | ---: | ---: |
{instructions}

Instructions a sample, counted by the lab's observer in one guest of one CPU, whose time follows
its instructions (`tools/isolab cost sample`): a run of 2500 samples less one of 500, medians of the
rounds. All that the program does is in it, its main thread too. cyclictest's looks 100 times a
second whether it must end; the isolator's once, and then it copies and judges what there is, which
is why it has more user mode and fewer entries into the kernel. Its measuring thread alone has more
user mode than cyclictest's too: it keeps the largest values with their times and a timeline, and
draws random phases. The system call of a sleep is the same for both, and most of the cost.

{cost_part['text'][0].upper() + cost_part['text'][1:]}.
{measured(cost_part)}.

## Where

{where['cpu']}, Linux {where['kernel']}, virtual machine: {where['virtual']};
rt-tests {report['rt_tests']}. Each run is in `out/measure-bench.json`, with the load of its
moment. With a load before, other programs had a part of the same CPUs, and the figures of both
programs are those of a busy machine.
"""
