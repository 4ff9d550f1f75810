"""What the fixtures say of themselves is what happens when they are executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from marks import marks, read
from poison import unwritten

FILES = sorted([*ROOT.glob("fixtures/situations/*.py"), *ROOT.glob("fixtures/quiet/*.py")])
#: State that construction leaves unwritten on purpose: scratch, or replaced after loading.
ON_PURPOSE = re.compile(r"^# unwritten: *(.*)$", re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_marked_state_and_no_other_is_unwritten(path: Path) -> None:
    text = read(path)
    expected = [mark.attribute or "" for mark in marks(text)]
    on_purpose = [name for found in ON_PURPOSE.findall(text) for name in re.split(r"[,\s]+", found)]
    found = unwritten(path)
    unexplained = {name for name in found if not any(known and known in name for known in (*expected, *on_purpose))}
    assert not unexplained
    if "meta" not in text:
        assert not [name for name in expected if not any(name in state for state in found)]
