# SPDX-License-Identifier: GPL-2.0-or-later
"""How reports begin: what each says of itself has a place in its schema."""

import re

import pytest
from isolab import record
from isolab.paths import LAB, SCHEMAS
from isolator_report import schemafile

PLACES = {
    name: "record.where(" in body
    for source in (LAB / "isolab").rglob("*.py")
    for name, body in re.findall(
        r'\*\*record\.head\("([\w-]+)"\)(.{0,80})', source.read_text(), re.DOTALL
    )
}


@pytest.mark.parametrize(("name", "where"), PLACES.items())
def test_the_head_of_a_report_fits_its_schema(
    name: str, where: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "emulator", lambda target: "none")
    head = record.head(name) | (record.where() if where else {})
    assert set(head) <= set(schemafile.read(SCHEMAS / f"{name}.json")["properties"])


def test_reports_are_found() -> None:
    assert {"run", "matrix", "hunt", "scope", "attribution"} <= {n for n, w in PLACES.items() if w}
