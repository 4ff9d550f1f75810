"""What is imported when, and what may import what."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports
from projects import FILLED, TABLE, Project, python

HEAVY = ("libcst", "torch", "numpy")
#: Runs the command line and says which of the heavy modules that took.
WATCHED = f"""
import sys
from lintinit.cli import main
try:
    main(sys.argv[1:], prog_name="lintinit")
except SystemExit:
    print([name for name in {HEAVY} if name in sys.modules])
"""


def imported(project: Project, *arguments: str) -> str:
    result = python("-c", WATCHED, *arguments, cwd=project.folder)
    assert result.stderr == ""
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", ["--help", "--version", "check --help", "rules", "explain int-table-init"])
def test_commands_that_check_nothing_import_nothing_heavy(project: Project, arguments: str) -> None:
    assert imported(project, *arguments.split()) == "[]"


def test_tree_without_candidates_is_checked_without_libcst(project: Project) -> None:
    project.write("a.py", "import torch\n\nx = torch.empty(3)\n")
    project.write("b.py", "class A:\n    register_buffer = 1\n")
    project.write("c.py", FILLED.replace("torch.zeros(8, 2, dtype=torch.int32)", "torch.zeros(8, 2)"))
    assert imported(project, "check") == "[]"


def test_tree_with_candidates_is_checked_without_torch(project: Project) -> None:
    project.write("a.py", TABLE)
    project.write("torch.py", "raise SystemError('what is checked is not imported')")
    assert imported(project, "check") == "['libcst']"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_torch_and_rules_are_imported_where_they_may_be() -> None:
    files = [*ROOT.glob("lintinit/**/*.py"), *ROOT.glob("rules/**/*.py")]
    assert len(files) > 60
    for path in files:
        found = [f"{name}." for name in imports(path)]
        if not path.is_relative_to(ROOT / "lintinit" / "runtime"):
            assert not [name for name in found if name.startswith(("torch.", "numpy."))], path
        assert not [name for name in found if name.startswith(("rules.", "lintinit.rules."))], path


def test_layers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(os.fspath(ROOT))
    status = lint_imports(no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
