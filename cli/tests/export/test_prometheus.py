# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator export beside the real Prometheus and node_exporter of Debian."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from clitest import CLI, PATIENCE_S, swap
from exporttest import export, full, machine
from waiting import until

BOARD = json.loads((CLI / "grafana/isolator.json").read_text())
RULES = CLI / "prometheus/isolator.rules.yml"
ALERTS = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
# What Grafana puts in the place of its variables.
VARIABLES = {"$__rate_interval": "4m", "$__range": "5m", "$instance": ".*", "$cpu": ".*"}


@pytest.fixture(scope="session")
def programs() -> Path:
    """Where they are; without Debian's archive there is nothing to compare with."""
    done = subprocess.run([CLI.parent / "tools/prometheus"], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode == 77:
        pytest.skip("Debian's archive, from which Prometheus is taken, cannot be had")
    assert done.returncode == 0
    return Path(done.stdout.splitlines()[-1])


def _port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode()
        return text


@contextlib.contextmanager
def _running(log: Path, *command: str | Path) -> Iterator[None]:
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


class Prometheus:
    """One that has scraped something, before and after a change."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The series that a query finds."""
        text = _get(f"{self.base}/api/v1/query?" + urllib.parse.urlencode({"query": query}))
        answer = json.loads(text)
        assert answer["status"] == "success" and not answer.get("warnings"), answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def scraped(self, times: int) -> bool:
        """So many samples are there, of a target that is up."""
        try:
            found = self.ask("count_over_time(isolator_available[10m])")
        except (urllib.error.URLError, ConnectionError):
            return False
        return bool(found) and float(found[0]["value"][1]) >= times


@contextlib.contextmanager
def _prometheus(programs: Path, directory: Path, target: str) -> Iterator[Prometheus]:
    port = _port()
    directory.mkdir()
    (directory / "prometheus.yml").write_text(json.dumps({
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "isolator",
                            "static_configs": [{"targets": [target]}]}]}))
    with _running(directory / "log", programs / "prometheus",
                  f"--config.file={directory}/prometheus.yml",
                  f"--storage.tsdb.path={directory}/data",
                  f"--web.listen-address=127.0.0.1:{port}"):
        yield Prometheus(port)


@contextlib.contextmanager
def _node(programs: Path, directory: Path) -> Iterator[str]:
    """A node_exporter that reads the files in a directory: where it listens."""
    address = f"127.0.0.1:{_port()}"
    with _running(directory.parent / "node.log", programs / "prometheus-node-exporter",
                  "--collector.disable-defaults", "--collector.textfile",
                  f"--collector.textfile.directory={directory}",
                  f"--web.listen-address={address}"):
        yield address


def _answer(address: str) -> str:
    """What it exports, once it listens."""
    found: list[str] = []

    def asked() -> bool:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            found.append(_get(f"http://{address}/metrics"))
        return bool(found)

    until(asked)
    return found[0]


@pytest.fixture(scope="module")
def scraped(programs: Path, isolator: Path, unpacked: Path,
            tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """The fixture busy, which became busy-later: a deadline miss came, and a new sender."""
    directory = tmp_path_factory.mktemp("prometheus")
    for fixture in ("busy", "busy-later"):
        subprocess.run(["cp", "-r", unpacked / fixture, directory / fixture], check=True)
        full(directory / fixture)
    link, collector = directory / "proc", directory / "collector"
    swap(link, directory / "busy")
    collector.mkdir()
    with _running(directory / "export.log", isolator, "export", "--proc", link, "--root",
                  machine(directory / "root"), "-o", collector / "isolator.prom", "-i", "0.5"), \
            _node(programs, collector) as target, \
            _prometheus(programs, directory / "data", target) as prometheus:
        until(lambda: prometheus.scraped(3))
        swap(link, directory / "busy-later")
        until(lambda: prometheus.scraped(8))
        yield prometheus


def _queries() -> list[tuple[str, str]]:
    """Those of the dashboard, with the panel's name."""
    return [(panel["title"], target["expr"]) for panel in BOARD["panels"]
            for target in panel.get("targets", [])]


def _filled(query: str) -> str:
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    assert "$" not in query
    return query


@pytest.mark.parametrize(("title", "query"), _queries())
def test_dashboard(scraped: Prometheus, title: str, query: str) -> None:
    """Every query of the dashboard finds a series."""
    until(lambda: scraped.ask(_filled(query)), title)


def test_dashboard_variables(scraped: Prometheus) -> None:
    """Those of its variables find a label."""
    found = 0
    for variable in BOARD["templating"]["list"]:
        if variable["type"] != "query":
            continue
        query = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"])
        assert query and variable["query"]["query"] == variable["definition"]
        assert all(query[2] in series["metric"]
                   for series in scraped.ask(_filled(query[1]))) and \
            scraped.ask(_filled(query[1]))
        found += 1
    assert found == 2


def _metrics_of(expression: str) -> set[str]:
    return set(re.findall(r"\bisolator_\w+", expression))


def test_rules(scraped: Prometheus) -> None:
    """Every metric that a rule names has a series, and every rule is evaluated."""
    def rules() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            _get(f"{scraped.base}/api/v1/rules"))["data"]["groups"][0]["rules"]
        return found

    # Once each was evaluated.
    until(lambda: all(rule["health"] != "unknown" for rule in rules()))
    loaded = rules()
    assert {rule["name"] for rule in loaded} == ALERTS and len(loaded) == 5
    assert all(rule["health"] == "ok" for rule in loaded), loaded
    for rule in loaded:
        assert _metrics_of(rule["query"])
        for metric in _metrics_of(rule["query"]):
            until(partial(scraped.ask, metric), metric)


def test_deadline_miss_fires(scraped: Prometheus) -> None:
    """The deadline miss that came is an alert of its CPU."""
    alert = 'ALERTS{alertname="IsolatorDeadlineMiss",cpu="1"}'
    until(lambda: scraped.ask(alert))


def test_types(scraped: Prometheus) -> None:
    """Prometheus has understood types and texts."""
    metadata = json.loads(_get(f"{scraped.base}/api/v1/metadata"))["data"]
    held = metadata["isolator_held"][0] if "isolator_held" in metadata else \
        metadata["isolator_queued_total"][0]
    assert held["type"] == "counter" and held["help"]
    assert metadata["isolator_longest_spin_seconds"][0]["type"] == "gauge"


def test_alerts(programs: Path, tmp_path: Path) -> None:
    """Each alert comes when it shall, and not when it shall not."""
    tests = tmp_path / "tests.yml"
    text = (CLI / "tests/export/isolator.rules.test.yml").read_text()
    assert text.count("[RULES]") == 1
    tests.write_text(text.replace("[RULES]", f"[{RULES}]"))
    fired = set(re.findall(r"alertname: (\w+)\n +exp_alerts:", text))
    quiet = set(re.findall(r"\{eval_time: \w+, alertname: (\w+)\}", text))
    assert fired == quiet == ALERTS
    done = subprocess.run([programs / "promtool", "test", "rules", tests], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([programs / "promtool", "check", "rules", "--lint-fatal", RULES], check=True)


@pytest.mark.parametrize("fixture", ["busy", "none", "quiet"])
def test_promtool_takes_it(programs: Path, isolator: Path, laid_out: Path, fixture: str) -> None:
    """promtool reads the text, and has nothing to say of its names."""
    text = export(isolator, "--proc", laid_out / fixture).stdout
    done = subprocess.run([programs / "promtool", "check", "metrics"], input=text,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_node_exporter(programs: Path, isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """It takes the file, with the types; what is written beside it is not read."""
    directory = tmp_path / "collector"
    directory.mkdir()
    (directory / "j.prom.new").write_text("no metrics at all\n")
    export(isolator, "--proc", laid_out / "busy", "-o", directory / "i.prom")
    with _node(programs, directory) as address:
        text = _answer(address)
    assert "\nnode_textfile_scrape_error 0\n" in text
    assert "\n# TYPE isolator_queued_total counter\n" in text
    assert '\nisolator_queued_total{cpu="1"} 58\n' in text
    assert '\nisolator_cpu_deadline_seconds{cpu="3"} +Inf\n' in text
    assert "\n# TYPE isolator_build_info gauge\n" in text and 'sender="a\\\\033[31mb' in text
