"""Every file of the fixtures says itself what must be reported in it; nothing else may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from marks import KNOWN_GAP, disagreements, marks, read

from lintinit.run import check_source

FILES = sorted([*ROOT.glob("fixtures/situations/*.py"), *ROOT.glob("fixtures/quiet/*.py")])
GAPS = [path for path in FILES if KNOWN_GAP.search(read(path))]


@pytest.mark.parametrize("path", [p for p in FILES if p not in GAPS], ids=lambda path: path.stem)
def test_reports_what_is_marked_and_nothing_else(path: Path) -> None:
    result = check_source(path.read_bytes(), path)
    assert not result.errors
    assert disagreements(marks(read(path)), list(result.findings)) == []


@pytest.mark.parametrize("path", GAPS, ids=lambda path: path.stem)
def test_known_gap_is_still_one(path: Path) -> None:
    found = disagreements(marks(read(path)), list(check_source(path.read_bytes(), path).findings))
    assert found, "this works now: take the line '# known gap' out"


def test_there_are_enough_of_both_kinds() -> None:
    silent = [path for path in FILES if not marks(read(path))]
    assert len(FILES) >= 60
    assert len(silent) * 2 >= len(FILES)
    assert len(GAPS) * 5 < len(FILES)
