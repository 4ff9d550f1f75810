"""The static verdict on what the fixtures build is the verdict of the audit that runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from marks import KNOWN_GAP, pattern, read
from poison import audited

from lintinit.run import check_source

FILES = sorted([*ROOT.glob("fixtures/situations/*.py"), *ROOT.glob("fixtures/quiet/*.py")])
#: State that construction leaves unwritten and `check` is right to be silent about: scratch, or replaced after loading.
ON_PURPOSE = re.compile(r"^# unwritten: *(.*)$", re.MULTILINE)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.xfail(reason="known gap")] if KNOWN_GAP.search(read(path)) else []
        )
        for path in FILES
    ],
)
def test_check_and_audit_agree(path: Path) -> None:
    text = read(path)
    findings = [finding for finding in check_source(path.read_bytes(), path).findings if not finding.suppressed]
    flagged = {name: finding for finding in findings for name in finding.attribute.split(", ")}
    on_purpose = {name for found in ON_PURPOSE.findall(text) for name in re.split(r"[,\s]+", found)}
    report = audited(path)
    assert report.failure is None
    unwritten = {name for state in report.unwritten if not state.floating for name in (state.name, *state.aliases)}

    unreported = {name for name in unwritten if not any(pattern(known).fullmatch(name) for known in flagged)}
    assert {name.rpartition(".")[2] for name in unreported} <= on_purpose
    written = {known for known in flagged if not any(pattern(known).fullmatch(name) for name in unwritten)}
    if written:  # then only on the meta device, and only a warning
        assert {flagged[known].severity for known in written} == {"warning"}
        on_meta = {state.name for state in audited(path, meta=True).unwritten}
        assert not {known for known in written if not any(pattern(known).fullmatch(name) for name in on_meta)}
