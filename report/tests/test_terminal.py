# SPDX-License-Identifier: GPL-2.0-or-later
"""What a file says cannot steer the terminal of who reads it."""

import io
import json
import re
from pathlib import Path

import pytest
import report_documents as documents
from isolator_report import terminal
from isolator_report.cli import dump, main
from isolator_report.errors import ERROR, INCONCLUSIVE, PASS
from steps import ROOT

SAMPLES = Path(__file__).with_name("samples")
EVIL = "\x1b]0;owned\x07\x9b2J\x7f\u202etxt\u2066\r\nisolator-report: done"
GOOD = documents.result(documents.lognormal(2000, 1))


def steers(text: str) -> bool:
    """Anything but letters and line ends?"""
    return bool(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text))


def test_what_is_replaced() -> None:
    """As cli/tests/base/text.c has it of the command; words of any language stay."""
    assert terminal.clean("a\x1b[2Jb\x7f\x9bc\ud800 prüf") == "a?[2Jb??c? prüf"
    assert terminal.clean("a\u202eb\u2066c\u2069\n\t") == "a?b?c???"
    assert terminal.clean("Größe 時間 µs … 'é'") == "Größe 時間 µs … 'é'"
    told = {"a": EVIL, "b": "Größe"}
    assert json.loads(dump(told)) == told and not steers(dump(told))
    assert "Größe" in dump(told)


@pytest.mark.parametrize(("name", "text"), [
    ("schema.json", json.dumps({"schema": EVIL})),
    ("key.json", json.dumps({**GOOD.data, EVIL: 1})),
    ("version.json", json.dumps({"schema": "isolator.measure", "version": EVIL})),
    (f"{EVIL.replace('/', '')}.json", "{"),
])
def test_errors(name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line each; also where it is the file's name."""
    path = tmp_path / name
    path.write_text(text)
    for command in (["advise", str(path)], ["html", str(path), "-o", str(tmp_path / "x")],
                    ["import", str(path)]):
        assert main(command) == ERROR
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and not steers(err) and err.startswith("isolator-report: ")


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["html", "x", "-o", "y", f"--{EVIL}"])
    assert done.value.code == ERROR and not steers(capsys.readouterr().err)


def test_what_other_programs_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings of an import, and the document on a terminal."""
    data = json.loads((SAMPLES / "cyclictest.json").read_text())
    data["rt_test_version:"] = data["return_code"] = data["sysinfo"]["release"] = EVIL
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data))
    assert main(["import", str(path)]) == PASS
    out, err = capsys.readouterr()
    assert not steers(out) and not steers(err) and "owned" in out and "owned" in err
    assert json.loads(out)["kernel"] == EVIL


def test_what_documents_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of compare, advise, merge and html."""
    paths = []
    for number in range(2):
        one = documents.result(documents.lognormal(2000, number), kernel=f"{EVIL}{number}",
                               began=documents.BEGAN + number * 10**12)
        one.data["parts"][0]["series"][0]["name"] = EVIL
        paths.append(str(documents.save(tmp_path / f"{number}.json", one)))
    assert main(["compare", *paths]) == INCONCLUSIVE
    out, err = capsys.readouterr()
    assert not steers(out) and "owned" in out and out.splitlines()[-1].startswith("inconclusive")
    for words in (["compare", *paths, "--json"], ["advise", paths[0]],
                  ["advise", paths[0], "--json"], ["merge", *paths]):
        main(words)
        out, err = capsys.readouterr()
        assert "owned" in out and not steers(out + err)
    lost = documents.changed(GOOD, lambda data: data.update(verdict="invalid", words=EVIL, exit=3))
    (tmp_path / "lost.json").write_text(json.dumps(lost))
    assert main(["html", str(tmp_path / "lost.json"), "-o", str(tmp_path / "x")]) == INCONCLUSIVE
    err = capsys.readouterr().err
    assert "owned" in err and err.count("\n") == 1 and not steers(err)


def test_a_locale_without_a_letter() -> None:
    """It is printed all the same."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    terminal._put("größer", out)
    assert out.buffer.getvalue() == b"gr??er\n"


@pytest.mark.parametrize("package", ["report/isolator_report", "scope/isolator_scope"])
def test_there_is_no_other_way(package: str) -> None:
    """Of both programs; what is for programs is written as it is: write(), and rows of CSV."""
    found = [f"{path.name}: {line.strip()}" for path in sorted((ROOT / package).glob("*.py"))
             for line in path.read_text().splitlines()
             if re.search(r"\bprint\(|std(out|err)\.write|_put\(", line)]
    allowed = ("terminal.py: ", "cli.py: sys.stdout.writelines(csv_text")
    assert [line for line in found if not line.startswith(allowed)] == []
