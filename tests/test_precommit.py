"""The hooks, as pre-commit itself installs and runs them for a commit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT
from projects import TABLE, TABLE_MESSAGE

from lintinit.fixing import fix_input
from lintinit.run import Options

CONFIG = """\
repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: lintinit
      - id: lintinit-fix
"""
#: Nothing of the person who runs the tests: neither their name nor how they sign or where their hooks are.
GIT_CONFIG = """\
[user]
name = Tester
email = tester@example.com
[safe]
directory = *
"""


@dataclass
class Repository:
    """A git repository whose commits go through pre-commit, which keeps its own things in *home*."""

    folder: Path
    home: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))}
        environment |= {
            "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PRE_COMMIT_HOME": str(self.home / "pre-commit"),
            "PRE_COMMIT_COLOR": "never",
        }
        environment.pop("PYTHONPATH", None)
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )

    def succeeds(self, *command: str) -> str:
        result = self.run(*command)
        assert result.returncode == 0, result.stdout
        return result.stdout

    def commits(self) -> int:
        return len(self.run("git", "rev-list", "--all").stdout.split())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty one, with both hooks from a clone of this project."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    if not (ROOT / ".git").exists():
        pytest.skip("the project is not in a git repository, from which pre-commit could take its hooks")
    (tmp_path / "gitconfig").write_text(GIT_CONFIG)
    clone, folder = tmp_path / "clone", tmp_path / "repository"
    folder.mkdir()
    repository = Repository(folder, tmp_path)
    repository.succeeds("git", "clone", "-q", str(ROOT), str(clone))
    rev = repository.succeeds("git", "-C", str(clone), "rev-parse", "HEAD").strip()
    repository.succeeds("git", "init", "-q")
    (folder / ".pre-commit-config.yaml").write_text(CONFIG.format(repo=clone.as_posix(), rev=rev))
    repository.succeeds(sys.executable, "-m", "pre_commit", "install")
    return repository


def test_commit(repository: Repository) -> None:
    bad = repository.folder / "router.py"
    bad.write_text(TABLE)
    repository.succeeds("git", "add", ".")
    refused = repository.run("git", "commit", "-m", "bad")
    assert refused.returncode == 1
    assert f"error[int-table-init]: {TABLE_MESSAGE}" in refused.stdout
    assert "router.py:8: fixed: " in refused.stdout
    assert "files were modified by this hook" in refused.stdout
    assert repository.commits() == 0

    [file] = fix_input(TABLE.encode(), bad, Options(), unsafe=False).files
    assert file.changed
    assert bad.read_bytes() == file.after

    repository.succeeds("git", "add", ".")
    passed = repository.succeeds("git", "commit", "-m", "good")
    assert [line.split(".")[0] for line in passed.splitlines() if line.endswith("Passed")] == [
        "lintinit check",
        "lintinit fix",
    ]
    assert repository.commits() == 1
    assert repository.succeeds("git", "show", "HEAD:router.py") == file.after.decode()

    [packages] = (repository.home / "pre-commit").glob("repo*/py_env-*/**/site-packages")
    installed = {path.name for path in packages.iterdir()}
    assert {"lintinit", "libcst", "click", "pathspec"} <= installed
    assert "torch" not in installed
