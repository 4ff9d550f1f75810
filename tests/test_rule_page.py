"""The page of a rule is its specification: every block of Python in it is checked against its own marks."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT
from marks import disagreements, marks

from lintinit.run import check_source

PAGE = (ROOT / "rules" / "int_table_init.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NOW = re.compile(r"# (error|warning): (\w+)$")
MISSED = re.compile(r"# todo-(error|warning): (\w+)$")
FALSE_ALARM = re.compile(r"# todo-(silent): (\w+)$")


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block_reports_what_it_marks(number: int) -> None:
    block = BLOCKS[number]
    findings = list(check_source(block).findings)
    todo = [mark.attribute for mark in marks(block, FALSE_ALARM)]
    false_alarms = [finding for finding in findings if finding.attribute in todo]
    assert [f.attribute for f in false_alarms] == todo, "a known false alarm is gone: say so on the page"
    rest = [finding for finding in findings if finding not in false_alarms]
    assert disagreements(marks(block, NOW), rest) == []
    missed = [mark.attribute for mark in marks(block, MISSED)]
    assert not [f for f in findings if f.attribute in missed], "a known miss is found: say so on the page"


def test_page_has_the_usual_headings() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert headings[:3] == ["What it does", "Why is this bad?", "Example"]
    assert headings[-2:] == ["Known limits", "References"]
    assert len(BLOCKS) >= 8
