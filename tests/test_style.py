"""The project's own code, as the tools see it that its pyproject.toml sets up."""

from __future__ import annotations

import pytest
from conftest import ROOT
from projects import python


@pytest.mark.parametrize("tool", ["ruff check", "ruff format --check", "mypy"])
def test_nothing_to_say(tool: str) -> None:
    result = python("-m", *tool.split(), cwd=ROOT, timeout=180)
    assert result.returncode == 0, result.stdout + result.stderr
