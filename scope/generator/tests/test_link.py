# SPDX-License-Identifier: GPL-2.0-or-later
"""A host and its generator: commands, packets, what is sent again, and what is gone."""

import time

import pytest
from isolator_scope.protocol import (
    Calibrate,
    Gap,
    Hello,
    Kept,
    Message,
    Ping,
    SetBurst,
    SetDuty,
    SetFrequency,
    SetLines,
    SetPacket,
    SetPatience,
    SetPhase,
    Start,
    Status,
    Stop,
    Trigger,
)
from rig import Host, Lines, Rig, account
from waiting import until

MS = 1_000_000


def due(host: Host) -> list[int]:
    """When each trigger was due, on the generator's clock."""
    return [one.at_ns - one.jitter_ns for one in host.triggers()]


def random_phase(seed: int, period: int, count: int) -> list[int]:
    """When triggers are due after START: steps of half a period to one and a half."""
    times, mask = [0], (1 << 64) - 1
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        word = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & mask
        word = ((word ^ word >> 27) * 0x94D049BB133111EB) & mask
        share = float((word ^ word >> 31) >> 11) * 2.0**-53
        times.append(times[-1] + period // 2 + int(share * period))
    return times


def is_part_of(run: list[int], times: list[int]) -> bool:
    """Was each of `run` due at one of `times`, from an unknown beginning on?"""
    return any({time - run[0] + first for time in run} <= set(times) for first in times)


@pytest.mark.parametrize("hertz", [50, 1000, 10_000])
def test_rates(rig: Rig, hertz: int) -> None:
    """Free-running: every trigger is on the grid of its frequency, whatever is answered."""
    rig.generator()
    begin = time.monotonic_ns()
    host = rig.host()
    connected = time.monotonic_ns()
    host.order(SetLines(1), SetFrequency(hertz * 1000), SetPatience(MS),
               SetPacket(max(hertz // 50, 1)), Start(0))

    def span() -> int:
        times = due(host)
        return times[-1] - times[0] if times else 0

    assert host.until(lambda: span() >= 600 * MS, 30)
    host.order(Stop())
    host.finish()
    # Its clock goes as ours does: of both we know only what lies between two words of its.
    end = time.monotonic_ns()
    went = rig.host().welcomes[0].now_ns - host.welcomes[0].now_ns
    assert max(end - connected, span()) <= went <= time.monotonic_ns() - begin
    times, period = due(host), 10**9 // hertz
    assert {(one - times[0]) % period for one in times} == {0}
    # Those that are not there would have been due while the generator itself was held up.
    steps = span() // period
    held_up = sum(one.jitter_ns // period for one in host.triggers())
    assert steps + 1 - len(times) <= held_up


def test_phase_is_repeatable(rig: Rig) -> None:
    """The same seed gives the same times, another one others; each within its bounds."""
    rig.generator()
    host = rig.host()
    host.order(SetLines(1), SetFrequency(200_000), SetPatience(MS))
    runs = []
    for seed in (5, 5, 6):
        before = len(due(host))
        host.order(SetPhase(1, seed), Start(40))
        host.finish(before + 40)
        runs.append(due(host)[before:])
    # Some may have been left out while the generator itself was held up; none is elsewhere.
    five, six = (random_phase(seed, 5 * MS, 2000) for seed in (5, 6))
    assert is_part_of(runs[0], five) and is_part_of(runs[1], five) and is_part_of(runs[2], six)
    assert not is_part_of(runs[0], six) and not is_part_of(runs[2], five)


def test_bursts_and_changes(rig: Rig) -> None:
    """Settings change while triggers run; each change is read back."""
    rig.generator()
    host = rig.host()

    def steps() -> set[int]:
        return {b - a for a, b in zip(due(host), due(host)[1:], strict=False)}

    # A generator that is held up leaves some out, and goes on.
    host.order(SetLines(1), SetFrequency(100_000), SetPatience(MS), SetPacket(5), Start(0))
    assert host.until(lambda: 10 * MS in steps(), 30)
    host.order(SetBurst(4, 500_000), SetFrequency(50_000), SetDuty(1000), SetPacket(9))
    assert host.until(lambda: {500_000, 18_500_000} <= steps(), 30)
    host.order(Stop())
    state = host.finish()
    assert (state.millihertz, state.burst, state.gap_ns, state.duty_ppm, state.packet_records,
            state.mask, state.patience_ns, state.running) == (
        50_000, 4, 500_000, 1000, 9, 1, MS, 0)


def test_duty(rig: Rig) -> None:
    """The trigger line is high for that part of a period, and low when nothing runs."""
    rig.generator()
    host = rig.host()
    lines = Lines(rig.lines)
    host.order(SetLines(1), SetFrequency(20_000), SetDuty(400_000), SetPatience(MS), Start(0))
    highs: list[int] = []  # ns that it was high, at most: what is held up makes it longer
    low, was_high, limit = 0, False, time.monotonic() + 60
    while len(highs) < 10 or min(highs) >= 24 * MS:
        assert time.monotonic() < limit, sorted(highs)[:5]
        before = time.monotonic_ns()
        if lines.word(132):
            was_high = True
        else:
            if was_high and low:
                highs.append(time.monotonic_ns() - low)
            low, was_high = before, False
        time.sleep(0.0005)  # sleep: between two looks at the line
    host.order(Stop())
    host.finish()
    level = lines.word(132)
    lines.close()
    assert min(highs) >= 20 * MS
    assert level == 0


REFUSED: list[tuple[Message, Status, str]] = [
    (SetFrequency(0), Status.REFUSED, "from 1 to 1000000000 mHz, not 0"),
    (SetPacket(0), Status.REFUSED, "records"),
    (SetPhase(2), Status.REFUSED, "0 fixed, 1 random"),
    (SetLines(1 << 40), Status.REFUSED, "lines 0 to 31"),
    (SetBurst(2, 10**10), Status.REFUSED, "shorter than half a period"),
    (SetPatience(0), Status.REFUSED, "from 1000 to 10000000000 ns"),
    (Start(), Status.REFUSED, "the target offers no line"),
    (Calibrate(0), Status.REFUSED, "from 1 to 100000 rounds"),
    (Kept(5), Status.REFUSED, "packet 5 was not made yet"),
]


def test_commands(rig: Rig) -> None:
    """Each is answered; what is not allowed says why, and changes nothing."""
    rig.generator()
    host = rig.host()
    assert host.said.status == Status.OK
    assert host.until(lambda: len(host.floors) == 1 and host.states)
    before = host.states[-1]
    for message, status, text in REFUSED:
        said = host.ask(message)
        assert (said.status, said.command) == (status, message.TYPE)
        assert text in said.text, said
    host.order(Ping(), Stop(), SetLines(1), Start())
    assert host.ask(Start()).status == Status.BUSY
    assert host.ask(Calibrate(10)).status == Status.BUSY
    host.order(Stop())
    after = host.finish()
    assert (after.millihertz, after.burst, after.patience_ns) == (
        before.millihertz, before.burst, before.patience_ns)
    host.order(Calibrate(60))
    assert host.until(lambda: len(host.floors) == 2)
    assert host.floors[1].rounds == 60
    assert 0 < host.floors[1].loopback_p50_ns <= host.floors[1].loopback_p99_ns
    assert host.floors[1].resolution_ns > 0


def test_orders_wait(rig: Rig) -> None:
    """More orders than are kept while it measures itself: each is accepted, none is refused."""
    rig.generator()
    host = rig.host()
    host.order(Calibrate(5000))
    count = len(host.acks) + 60
    for number in range(60):
        host.send(SetFrequency(50_000 + number))
    assert host.until(lambda: len(host.acks) >= count)
    assert {(said.status, said.text) for said in host.acks} == {(Status.OK, "")}
    assert host.until(lambda: host.states and host.states[-1].millihertz == 50_059)


def test_hello(rig: Rig) -> None:
    """Version, token, and a packet of the future; the newest host is the one."""
    token = rig.directory / "token"
    token.write_text("right\n")
    token.chmod(0o600)
    rig.generator("--token-file", str(token))
    for wrong in ("", "wrong", "righ", "rightright"):
        refused = rig.host(Hello(token=wrong))
        assert refused.said.status == Status.REFUSED and "token" in refused.said.text
        assert refused.until(lambda host=refused: host.closed) and not refused.welcomes
    assert "version" in rig.host(Hello(2, 3, token="right")).said.text
    host = rig.host(Hello(1, 9, token="right"))
    assert host.said.status == Status.OK and host.until(lambda: bool(host.welcomes))
    ahead = rig.host(Hello(session=host.session, next_packet=99, token="right"))
    assert "not made yet" in ahead.said.text
    host.order(Ping())
    newer = rig.host(Hello(token="right"))
    assert host.until(lambda: host.closed)
    # It learns why, so that it does not take the generator back by itself.
    told = host.acks[-1]
    assert (told.sequence, told.command, told.status) == (0xFFFFFFFF, Hello.TYPE, Status.BUSY)
    assert "another host" in told.text
    newer.order(Ping())


def test_sent_again(rig: Rig) -> None:
    """Links that are cut lose nothing: packets go on where the host has them, the same bytes."""
    rig.generator()
    rig.target("irq,5")
    host = rig.host()
    host.order(SetFrequency(1_000_000), SetPatience(5 * MS), SetPacket(5), Start(0))
    assert host.until(lambda: len(host.packets) > 20)
    kept = list(host.packets)[:10]
    for _ in range(5):
        session = host.session
        host.close()
        host = rig.host(Hello(token=rig.token, session=session, next_packet=len(kept)))
        assert host.until(lambda host=host: len(host.packets) > 10)
        assert host.packets[0].number == len(kept)
        kept += host.packets
        host.order(Kept(kept[-6].number))
    host.order(Stop())
    state = host.finish_from(kept)
    # Some of this link were kept in its round; more came while it was told so.
    kept += [packet for packet in host.packets if packet.number >= len(kept)]
    assert [packet.number for packet in kept] == list(range(len(kept)))
    found = account([record for packet in kept for record in packet.records])
    assert found.triggers == state.triggers and state.unsent == 0
    # What was said to be kept is gone; the rest comes again, for a host that knows nothing.
    again = rig.host()
    first = again.welcomes[-1].first_packet
    assert first > 0
    assert again.until(lambda: len(again.packets) == len(kept) - first)
    assert again.packets == kept[again.packets[0].number:]


def test_nobody_listens(rig: Rig) -> None:
    """Packets are kept up to the store's size; what is gone is a gap, told and counted."""
    rig.generator("--store", "1M")
    rig.target("irq,5")
    host = rig.host()
    session, lines = host.session, Lines(rig.lines)
    host.order(SetLines(0xFFFFFFFF), SetFrequency(100_000_000), SetPatience(MS), SetPacket(50),
               Start(120_000))
    assert host.until(lambda: len(host.packets) > 3)
    had = list(host.packets)
    host.close()
    until(lambda: lines.trigger == 120_000, lambda: lines.trigger, 120)
    lines.close()
    host = rig.host(Hello(token=rig.token, session=session, next_packet=len(had)))
    state = host.finish_from(had, 120_000)
    first = host.welcomes[0].first_packet
    assert first > len(had) and host.packets[0].number == first
    gaps = [one for one in host.records() if isinstance(one, Gap)]
    records = [one for one in [*(r for p in had for r in p.records), *host.records()]
               if isinstance(one, Trigger)]
    seen = [one.trigger for one in records]
    lost = {number for gap in gaps for number in range(gap.first, gap.last + 1)}
    assert len(seen) == len(set(seen)) and not lost & set(seen)
    # Packets that were sent into the link that was cut are no gap of the generator's; the host
    # sees them by their numbers.
    sent = set(range(1, 120_001)) - lost - set(seen)
    assert len(sent) <= 50 * (first - len(had)) and lost
    assert state.unsent >= len(lost)
    assert host.packets[-1].unsent == state.unsent


def test_names(rig: Rig) -> None:
    """A target that comes or goes changes the names: said without being asked."""
    rig.generator()
    host = rig.host()
    assert host.until(lambda: bool(host.welcomes)) and host.welcomes[-1].names == ("",) * 32
    target = rig.target("irq,1", "user,1")
    assert host.until(lambda: host.welcomes[-1].names[:3] == ("irq", "user", ""))
    rig.stop(target)
    assert host.until(lambda: host.welcomes[-1].names[0] == "")
