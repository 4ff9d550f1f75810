"""Rules that other packages install, good ones and those that fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from projects import TABLE, TABLE_MESSAGE, Project, python

FOUND = f"8:9: error[int-table-init] {TABLE_MESSAGE}"
RULE = """\
import os
import signal
import sys

from lintinit.rule import Rule


def check(model):
    if model.source.path.name == "b.py":
        {body}
    return []


RULE = Rule("odd-rule", "ODD001", "is odd", "1.0", "warning", "never", check)
"""
FINDING = """\
from lintinit.finding import Finding, Position
        at = Position(1, 1, 1, 7)
        path = model.source.path
        return [Finding("odd-rule", "ODD001", "warning", "low", "odd", path, at, (), "x", "y", "z", "d", "unknown")]
"""


class Plugin:
    """A package that is installed with a rule."""

    def __init__(self, folder: Path, project: Project) -> None:
        self.folder = folder
        self.project = project

    def install(self, body: str, value: str = "odd_rules:RULE") -> None:
        information = self.folder / "odd_rules-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-rules\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[lintinit.rules]\nodd-rule = {value}\n")
        (self.folder / "odd_rules.py").write_text(RULE.format(body=body))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return python("-m", "lintinit", *arguments, cwd=self.project.folder, path=self.folder)


@pytest.fixture
def plugin(project: Project, tmp_path: Path) -> Plugin:
    """Three files with one finding each, and a rule that does something odd to the second."""
    for name in ("a.py", "b.py", "c.py"):
        project.write(name, TABLE)
    return Plugin(tmp_path / "plugin", project)


def test_good_rule(plugin: Plugin) -> None:
    plugin.install(FINDING)
    assert plugin.run("rules").stdout.splitlines()[1:] == ["ODD001  odd-rule  (warning)  is odd"]
    result = plugin.run("check", "--output-format", "concise", "--rule", "ODD001")
    assert result.stdout == "b.py:1:1: warning[odd-rule] odd\n0 errors, 1 warning in 3 files\n"
    assert (result.stderr, result.returncode) == ("", 0)


def test_rule_without_a_page(plugin: Plugin) -> None:
    plugin.install("pass")
    result = plugin.run("explain", "odd-rule")
    assert (result.stdout, result.stderr, result.returncode) == ("", "lintinit: rule odd-rule has no page\n", 2)


@pytest.mark.parametrize(
    ("body", "jobs", "message"),
    [
        ("raise ValueError('two\\nlines')", "1", r"rule odd-rule failed: ValueError: two\nlines"),
        ("return 1 / 0", "2", "rule odd-rule failed: ZeroDivisionError: division by zero"),
        ("sys.exit(0)", "1", "rule odd-rule failed: SystemExit: 0"),
        ("sys.exit(0)", "2", "rule odd-rule failed: SystemExit: 0"),
        ("check(model)", "1", "rule odd-rule failed: RecursionError: maximum recursion depth exceeded"),
        ("return None", "2", "rule odd-rule failed: TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_rule_that_fails(plugin: Plugin, body: str, jobs: str, message: str) -> None:
    plugin.install(body)
    result = plugin.run("check", "-j", jobs, "--output-format", "concise")
    *findings, problem, summary = result.stdout.splitlines()
    assert findings == [f"a.py:{FOUND}", f"b.py:{FOUND}", f"c.py:{FOUND}"], "the other rule goes on"
    assert problem.startswith(f"b.py:1:1: failed: {message}")
    assert summary == "3 errors, 0 warnings in 3 files; 1 problem kept files from being checked"
    assert (result.stderr, result.returncode) == ("", 2)


@pytest.mark.parametrize("body", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"])
def test_process_that_dies(plugin: Plugin, body: str) -> None:
    plugin.install(body)
    result = plugin.run("check", "-j", "2", "--output-format", "json")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    report = json.loads(result.stdout)
    assert [finding["path"] for finding in report["findings"]] == ["a.py", "c.py"]
    assert report["errors"] == [{"path": "b.py", "line": 1, "message": "the process that checked this file died"}]
    assert report["summary"]["files"] == 3


def test_processes_that_die_in_several_batches(plugin: Plugin) -> None:
    plugin.install("os._exit(7)")
    for name in ("1/b.py", "3/b.py"):
        plugin.project.write(name, TABLE)
    for number in range(25):
        plugin.project.write(f"2/{number}.py", TABLE)
    report = json.loads(plugin.run("check", "-j", "2", "--output-format", "json", "1", "2", "3").stdout)
    assert len([finding["path"] for finding in report["findings"]]) == 25
    assert [error["path"] for error in report["errors"]] == ["1/b.py", "3/b.py"]


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt(plugin: Plugin, jobs: str) -> None:
    plugin.install("open('begun', 'w').close(); __import__('time').sleep(60)")
    command = [sys.executable, "-m", "lintinit", "check", "-j", jobs]
    started = subprocess.Popen(
        command,
        cwd=plugin.project.folder,
        env={**os.environ, "PYTHONPATH": str(plugin.folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 30
    while not (plugin.project.folder / "begun").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    assert started.communicate(timeout=30) == ("", "lintinit: interrupted\n")
    assert started.returncode == 2


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("nowhere:RULE", "rule odd-rule (nowhere:RULE) cannot be loaded: No module named 'nowhere'"),
        ("odd_rules:check", "rule odd-rule (odd_rules:check) is not a lintinit.rule.Rule"),
    ],
)
def test_rule_that_cannot_be_loaded(plugin: Plugin, value: str, problem: str) -> None:
    plugin.install("pass", value)
    result = plugin.run("check")
    assert (result.stdout, result.stderr, result.returncode) == ("", f"lintinit: {problem}\n", 2)
