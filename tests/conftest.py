"""Where things are, for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from projects import Project

ROOT = Path(__file__).resolve().parent.parent

#: The same examples in every run, however busy the machine is.
settings.register_profile("lintinit", derandomize=True, deadline=None, max_examples=200)
settings.load_profile("lintinit")


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project, which is the current folder of the test."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return Project(folder)
