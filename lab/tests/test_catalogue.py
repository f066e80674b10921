# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of interference as data: complete, and every word in it a known one."""

import tomllib
from typing import Any

import pytest
from isolab import catalogue, header
from isolab.paths import LAB

ARCH = {"x86", "arm64", "other"}
POLICIES = {*header.CLASSES, "none"}
TEXTS = ("source", "what", "trigger", "how")
KEYS = {"number", "arch", "stock", "policy", "untriggered", "note", *TEXTS}


def _file(name: str) -> dict[str, Any]:
    return tomllib.loads((LAB / "catalogue" / f"{name}.toml").read_text())


def _rows() -> list[dict[str, Any]]:
    return [row for name in catalogue.ORDER for row in _file(name)["row"]]


def test_every_file_is_a_section() -> None:
    files = {p.stem for p in (LAB / "catalogue").glob("*.toml")}
    assert files == {*catalogue.ORDER, "callbacks"}
    titles = [_file(name)["title"] for name in catalogue.ORDER]
    assert all(titles)
    assert len(set(titles)) == len(titles)


def test_callbacks_belong_to_rows() -> None:
    assert set(catalogue.callbacks().values()) <= set(catalogue.rows())


def test_each_row_has_a_trigger_or_a_reason() -> None:
    triggers = header.triggers()
    assert {n for t in triggers for n in t.rows} <= set(catalogue.rows())
    assert [n for n, why in catalogue.untriggered(triggers).items() if not why] == []


def test_the_sample_of_make_check_has_every_class() -> None:
    sample = [t for t in header.triggers() if "check" in t.used_in]
    assert {t.cls for t in sample} == set(header.CLASSES)
    assert any(t.user for t in sample)


def test_rows_are_numbered_without_a_gap() -> None:
    numbers = [row["number"] for row in _rows()]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 88


@pytest.mark.parametrize("row", _rows(), ids=lambda row: str(row["number"]))
def test_a_row_says_everything_in_known_words(row: dict[str, Any]) -> None:
    assert set(row) == KEYS
    assert row["arch"]
    assert set(row["arch"]) <= ARCH
    assert row["stock"] in catalogue.SPARED
    assert row["policy"] in POLICIES
    for key in TEXTS:
        assert row[key].strip(), key
        # The page is Markdown: an angle bracket begins a tag.
        assert "<" not in row[key], key
    for key in ("what", "how"):
        assert row[key].endswith("."), key


@pytest.mark.parametrize("row", _rows(), ids=lambda row: str(row["number"]))
def test_what_no_guest_can_run_has_a_reason(row: dict[str, Any]) -> None:
    assert row["untriggered"] == "" or len(row["untriggered"]) >= 10
    if row["stock"] == "hardware" or not {"x86", "arm64"} & set(row["arch"]):
        assert row["untriggered"]
