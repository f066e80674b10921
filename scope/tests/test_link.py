# SPDX-License-Identifier: GPL-2.0-or-later
"""The link: cut as often as it likes, no record comes twice and none is lost."""

import asyncio
import random
from pathlib import Path

import pytest
import waiting
from isolator_scope import instrument
from isolator_scope import link as linking
from isolator_scope.errors import ScopeError
from isolator_scope.instrument import Instrument
from isolator_scope.protocol import (
    Calibrate,
    Frame,
    Packet,
    Ping,
    SetDuty,
    SetFrequency,
    SetPacket,
    Start,
    Stop,
    Welcome,
    encode,
    encode_frame,
)
from isolator_scope.recording import Kind, Reader
from scope_runs import generator, linked, measuring, same, until, whole
from sim.generator import Link
from sim.model import Faults
from waiting import PATIENCE_S

CUTS = 20


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not wait for seconds."""
    monkeypatch.setattr(linking, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(linking, "LONGEST_PAUSE", 0.2)


def packets(path: Path) -> list[int]:
    """Numbers of the recorded packets."""
    return [int.from_bytes(entry.content[20:28], "little") for entry in Reader(path)
            if entry.kind == Kind.FRAME and entry.content[5] == Packet.TYPE]


@pytest.mark.parametrize("seed", range(3))
def test_twenty_cuts(tmp_path: Path, seed: int) -> None:
    """In the middle of a frame, closed or aborted: each packet is recorded once, in order."""
    dice = random.Random(seed)
    path = tmp_path / "a.scope"

    async def run() -> None:
        wrong = Link(cut_after=[dice.randrange(0, 6) for _ in range(CUTS)])
        faults = Faults(missing=0.02, late=0.01, stray=0.01)
        async with generator(seed, faults, wrong) as made, measuring(path, made.port) as host:
            await whole(host, made, 3000, packet=10)
            assert made.cuts == CUTS and host.link is not None and host.link.cuts >= CUTS
            same(host.account, made)
            await until(lambda: host.account.agrees() is True)
            assert host.account.doubts() == [] and host.repeated == 0

    asyncio.run(run())
    numbers = packets(path)
    assert numbers == list(range(len(numbers)))
    events = [entry.note()["event"] for entry in Reader(path) if entry.kind == Kind.NOTE]
    assert events.count("cut") >= CUTS and events[-1] == "ended"


def test_packets_that_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that sends them twice: refused, neither counted nor recorded."""
    monkeypatch.setattr(instrument, "SYNC", 60.0)  # until then it forgets none of them
    path = tmp_path / "a.scope"

    async def run() -> None:
        async with generator() as made, measuring(path, made.port) as host:
            await whole(host, made, 300, packet=10)
            made._next -= 5
            await whole(host, made, 300, packet=10)
            assert host.repeated == 5
            same(host.account, made)

    asyncio.run(run())
    assert packets(path) == list(range(len(packets(path))))


def test_kept_only_after_the_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator forgets nothing that is not on the disk, nor what came during the sync."""
    monkeypatch.setattr(instrument, "SYNC", 0.05)
    synced: list[int] = []
    stopped: list[bool] = []

    async def run() -> None:
        async with generator(speed=5.0) as made, \
                measuring(tmp_path / "a.scope", made.port) as host:
            made.target.settings.millihertz = 500_000
            real = host.recording.sync  # type: ignore[union-attr]

            def sync() -> None:
                assert made.kept <= (synced[-1] if synced else 0)
                before = host.account.next_packet
                # A slow disk: packets come meanwhile, while any do.
                waiting.until(lambda: stopped or host.account.next_packet > before)
                real()
                synced.append(before)

            monkeypatch.setattr(host.recording, "sync", sync)
            link = await linked(host)
            for message in (SetPacket(10), Start(0)):
                assert (await link.command(message)).status == 0
            await until(lambda: len(synced) > 6)
            stopped.append(True)
            assert (await link.command(Stop())).status == 0
            await until(lambda: made.target.idle and not made._records
                        and made.kept == made.next_packet)
            assert made.first_packet == made.kept and not made.packets

    asyncio.run(run())


def test_generator_that_does_not_read(tmp_path: Path) -> None:
    """Commands to it do not pile up for ever."""
    async def run() -> None:
        async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(encode(Welcome(1, 5, 0, 0, 1, 1), 0))
            await asyncio.Event().wait()

        server = await asyncio.start_server(deaf, "127.0.0.1", 0, limit=1)
        port = server.sockets[0].getsockname()[1]
        async with measuring(tmp_path / "a.scope", port) as host:
            link = await linked(host)
            with pytest.raises(ScopeError, match="does not read"):
                for _ in range(10**6):
                    link._send(Ping())
        server.close()

    asyncio.run(run())


def test_host_killed_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that died before the sync goes on from its recording: nothing twice, nothing lost."""
    path = tmp_path / "a.scope"

    async def run() -> None:
        async with generator(faults=Faults(missing=0.01), speed=20.0) as made:
            made.target.settings.packet = 20
            async with measuring(path, made.port) as host:
                link = await linked(host)
                assert (await link.command(Start(3000))).status == 0
                await until(lambda: host.account.triggers > 500)
            with path.open("r+b") as file:  # the last entries did not reach the disk
                file.truncate(path.stat().st_size * 2 // 3)
                assert made.first_packet <= 10
            made.link.keep = 10**6
            async with measuring(path, made.port) as host:
                if host.account.next_packet < made.first_packet:
                    pytest.fail("it was kept before it was synced")
                await until(lambda: made.target.idle and not made._records
                            and host.account.next_packet == made.next_packet)
                same(host.account, made)

    # KEPT must not have been said for what the truncated file does not hold.
    monkeypatch.setattr(instrument, "SYNC", 60.0)
    asyncio.run(run())
    assert packets(path) == list(range(len(packets(path))))


def test_generator_has_no_room(tmp_path: Path) -> None:
    """What it had to forget is a gap, and shown as one."""
    async def run() -> None:
        async with generator(link=Link(keep=20)) as made:
            made.target.settings.packet = 10
            made.target.start(0, 3000)
            await until(lambda: made.target.idle and not made._records)
            path = tmp_path / "a.scope"
            async with measuring(path, made.port) as host:
                await until(lambda: host.account.next_packet == made.next_packet)
                # It joined late: what was before is not its own.
                had, following = host.account.triggers, made.next_packet
                assert 0 < had <= 200 and made.first_packet and not host.account.lost_packets
                assert host.account.doubts() == []
            made.target.start(made.now, 3000)
            await until(lambda: made.target.idle and not made._records)
            async with measuring(path, made.port) as host:
                await until(lambda: host.account.next_packet == made.next_packet)
                account = host.account
                assert account.lost_packets == made.first_packet - following
                assert account.triggers - had + account.lost_triggers == 3000
                assert [gap.what for gap in account.gaps] == ["packets", "triggers"]
                assert len(account.doubts()) == 2

    asyncio.run(run())


@pytest.mark.parametrize("hostile", [
    b"GET / HTTP/1.1\r\n\r\n" * 9,
    encode_frame(Frame(0x83, 77, b"")),  # out of sequence
    encode_frame(Frame(0x83, 0, b""))[:-1] + b"\xff" * 30,
    b"ISCP\x01\x83\0\0\xff\xff\xff\xff" + bytes(8),  # 4 GiB
])
def test_hostile_bytes(tmp_path: Path, hostile: bytes) -> None:
    """The link closes, comes back, and has lost nothing."""
    async def run() -> None:
        async with generator(link=Link(hostile=hostile)) as made, \
                measuring(tmp_path / "a.scope", made.port) as host:
            await whole(host, made, 500)
            assert host.link is not None and host.link.cuts >= 1
            same(host.account, made)
            assert host.account.doubts() == []

    asyncio.run(run())


def test_unreadable_packet(tmp_path: Path) -> None:
    """A right checksum and a wrong content: it is not asked for again for ever, but said."""
    async def run() -> None:
        async with generator() as made, measuring(tmp_path / "a.scope", made.port) as host:
            await whole(host, made, 200, packet=10)
            made.packets.append(made.next_packet.to_bytes(8, "little") + bytes(8) + b"\x05\x00\x09")
            made._more.set()
            await until(lambda: host.account.unreadable == 1)
            await whole(host, made, 200, packet=10)
            assert host.account.triggers == 400 and host.account.lost_packets == 1
            assert any("could not be read" in words for words in host.account.doubts())
        again = Instrument(tmp_path / "a.scope", live=False)
        await again.replay(0)
        assert again.account.unreadable == 1 and again.account.triggers == 400

    asyncio.run(run())


def test_generator_restarted(tmp_path: Path) -> None:
    """Another session on the same port: the account goes on and says what that means."""
    path = tmp_path / "a.scope"

    async def run() -> None:
        async with generator(1) as made, measuring(path, made.port) as host:
            await whole(host, made, 500)
            port = made.port
            await made.close()
            async with generator(2, port=port) as other:
                await until(lambda: host.account.sessions == 2)
                await whole(host, other, 700)
            assert host.account.triggers == 1200
            assert all(line.triggers == 1200 for line in host.account.lines)
            assert any("generator restarted" in words for words in host.account.doubts())

    asyncio.run(run())


def test_commands(tmp_path: Path) -> None:
    """Answered in order; a refusal has its words; what no field can hold is not sent."""
    async def run() -> None:
        async with generator() as made, measuring(tmp_path / "a.scope", made.port) as host:
            link = await linked(host)
            acks = await asyncio.gather(*(link.command(one) for one in (
                SetFrequency(500_000), SetDuty(0), Calibrate(100), Start(0), Start(0))))
            assert [ack.status for ack in acks] == [0, 1, 0, 0, 3]
            assert acks[1].text == "1 to 999999 ppm"
            await until(lambda: host.account.floor is not None)
            with pytest.raises(ScopeError, match="out of range"):
                await link.command(SetFrequency(1 << 64))
            assert made.target.settings.millihertz == 500_000

    asyncio.run(run())
    sent = [entry.content[5] for entry in Reader(tmp_path / "a.scope")
            if entry.kind == Kind.COMMAND]
    assert sent == [2, 3, 0x0B, 9, 9]


def test_token(tmp_path: Path) -> None:
    """Wrong: refused, with words, and never written down."""
    async def run() -> None:
        async with generator(link=Link(token="s3cret")) as made:
            async with measuring(tmp_path / "a.scope", made.port, "other") as host:
                await until(lambda: host.link is not None and host.link.refused is not None)
                assert host.link is not None and not host.link.connected.is_set()
                with pytest.raises(ScopeError, match="no link to .*token is wrong"):
                    await host.link.command(Start(0))
            async with measuring(tmp_path / "a.scope", made.port, "s3cret") as host:
                await whole(host, made, 100)

    asyncio.run(run())
    assert b"s3cret" not in (tmp_path / "a.scope").read_bytes()


def test_ended_while_a_connection_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever cancels the link then is heard: it does not connect again for ever."""
    monkeypatch.setattr(linking, "SILENCE", 0.1)

    async def run() -> None:
        ending, ended = asyncio.Event(), asyncio.Event()

        async def ping(_: linking.Link) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ending.set()
                await ended.wait()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        monkeypatch.setattr(linking.Link, "_ping", ping)
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        target = linking.Target("127.0.0.1", server.sockets[0].getsockname()[1])
        task = asyncio.create_task(
            linking.Link(target, Instrument(tmp_path / "a.scope", live=False)).run())
        await asyncio.wait_for(ending.wait(), 30)
        task.cancel()
        for _ in range(10):  # turns in which it hears of that, before its connection has ended
            await asyncio.sleep(0)
        ended.set()
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        task.cancel()
        server.close()
        assert done

    asyncio.run(run())


def test_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that says nothing is not one: the link is cut, and the pauses grow."""
    monkeypatch.setattr(linking, "SILENCE", 0.1)
    monkeypatch.setattr(linking, "LONGEST_PAUSE", 10.0)

    async def run() -> None:
        calls: list[float] = []
        loop = asyncio.get_running_loop()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            calls.append(loop.time())
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        async with measuring(tmp_path / "a.scope", server.sockets[0].getsockname()[1]):
            await until(lambda: len(calls) == 7)
        # Whatever holds this process up makes them longer: the last is 32 times the first.
        assert calls[-1] - calls[-2] > 0.1 + 8 * 0.01
        server.close()

    asyncio.run(run())
