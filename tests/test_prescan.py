"""The prescan saves time and changes nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from projects import Project


@pytest.mark.parametrize("folder", ["fixtures/quiet", "fixtures/readme", "fixtures/situations"])
def test_findings_are_the_same_without_it(root: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.chdir(root)
    project = Project(root)
    arguments = ("check", "--output-format", "json", "--jobs", "1", folder)
    scanned, parsed = (project.run(*arguments, *extra).stdout for extra in ((), ("--no-prescan",)))
    if folder != "fixtures/quiet":
        assert json.loads(scanned)["findings"]
    # How many files had to be parsed is what the prescan is there to change.
    counts = [f'"parsed": {json.loads(text)["summary"]["parsed"]}' for text in (scanned, parsed)]
    assert scanned.replace(counts[0], counts[1]) == parsed
