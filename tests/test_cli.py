"""The command line: options, exit statuses, texts."""

from __future__ import annotations

import re

import click
import pytest
from conftest import ROOT
from projects import FILLED, PAYLOAD, TABLE, TABLE_MESSAGE, Project, python

from lintinit import __version__
from lintinit.cli import main

TABLE_FOUND = f"8:9: error[int-table-init] {TABLE_MESSAGE}"
PAYLOAD_FOUND = (
    "8:9: warning[int-table-init] integer buffer `weight_packed` is allocated by `torch.empty` and never filled"
    " (packed weight)"
)


def test_nothing_found(project: Project) -> None:
    project.write("a.py", FILLED)
    result = project.run("check")
    assert (result.stdout, result.stderr, result.exit_code) == ("0 errors, 0 warnings in 1 file\n", "", 0)


def test_current_folder_is_the_default(project: Project) -> None:
    project.write("pkg/a.py", TABLE)
    assert project.check() == project.check(".") == [f"pkg/a.py:{TABLE_FOUND}", "exit 1"]


def test_single_file(project: Project) -> None:
    project.write("a.py", TABLE)
    project.write("b.py", TABLE)
    assert project.check("b.py") == [f"b.py:{TABLE_FOUND}", "exit 1"]


def test_file_named_twice_is_checked_once(project: Project) -> None:
    project.write("a.py", TABLE)
    assert project.check("a.py", ".", "./a.py") == [f"a.py:{TABLE_FOUND}", "exit 1"]
    assert project.report("a.py", ".")["summary"]["files"] == 1


def test_path_outside_the_current_folder_is_shown_as_given(project: Project) -> None:
    outside = project.write("../outside/a.py", TABLE)
    assert project.check("../outside") == [f"../outside/a.py:{TABLE_FOUND}", "exit 1"]
    assert project.check(str(outside.resolve())) == [f"{outside.resolve()}:{TABLE_FOUND}", "exit 1"]


def test_absolute_path_below_the_current_folder_is_shown_relative(project: Project) -> None:
    assert project.check(str(project.write("pkg/a.py", TABLE))) == [f"pkg/a.py:{TABLE_FOUND}", "exit 1"]


def test_missing_path(project: Project) -> None:
    project.write("a.py", TABLE)
    result = project.run("check", "a.py", "nowhere")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "lintinit: no such file or folder: nowhere\n", 2)


def test_no_files_is_said(project: Project) -> None:
    project.write("notes.txt", TABLE)
    result = project.run("check")
    assert (result.stdout, result.exit_code) == ("0 errors, 0 warnings in 0 files\n", 0)
    assert result.stderr == "lintinit: no Python files there\n"


def test_severities(project: Project) -> None:
    project.write("a.py", TABLE)
    project.write("b.py", PAYLOAD)
    both = [f"a.py:{TABLE_FOUND}", f"b.py:{PAYLOAD_FOUND}"]
    assert project.check() == [*both, "exit 1"]
    assert project.check("--min-severity", "error") == [both[0], "exit 1"]
    assert project.check("b.py") == [both[1], "exit 0"]
    assert project.check("b.py", "--fail-on", "warning") == [both[1], "exit 1"]
    assert project.check("b.py", "--fail-on", "warning", "--min-severity", "error") == ["exit 0"]


@pytest.mark.parametrize("name", ["int-table-init", "LNI001"])
def test_rule_by_name_or_code(project: Project, name: str) -> None:
    project.write("a.py", TABLE)
    assert project.check("--rule", name) == [f"a.py:{TABLE_FOUND}", "exit 1"]


@pytest.mark.parametrize("command", [("check", "--rule", "no-such-rule"), ("explain", "no-such-rule")])
def test_unknown_rule(project: Project, command: tuple[str, ...]) -> None:
    result = project.run(*command)
    assert result.stderr == "lintinit: no rule 'no-such-rule'; there is: int-table-init\n"
    assert (result.stdout, result.exit_code) == ("", 2)


@pytest.mark.parametrize(
    "arguments",
    [("--jobs", "0"), ("--min-severity", "info"), ("--fail-on", "none"), ("--output-format", "xml"), ("--nonsense",)],
)
def test_misuse_is_trouble(project: Project, arguments: tuple[str, ...]) -> None:
    result = project.run("check", *arguments)
    assert (result.stdout, result.exit_code) == ("", 2)
    assert result.stderr.startswith("Usage: lintinit check")
    assert arguments[0] in result.stderr


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_jobs_change_nothing(project: Project, form: str) -> None:
    for number in range(30):  # more than one batch
        project.write(f"m{number:02}.py", (TABLE, PAYLOAD, FILLED, "def (:\n")[number % 4])
    one, two = (project.run("check", "--output-format", form, "-j", jobs) for jobs in "12")
    assert one.stdout == two.stdout
    assert one.stdout.count("m28.py") >= 1
    assert one.exit_code == two.exit_code == 2


def test_rules_are_listed(project: Project) -> None:
    result = project.run("rules")
    assert result.stdout == (
        "LNI001  int-table-init  (error)  integer parameter or buffer is allocated uninitialised and never filled\n"
    )
    assert result.exit_code == 0


def test_explain_prints_the_page(project: Project) -> None:
    page = (ROOT / "rules" / "int_table_init.md").read_text(encoding="utf-8")
    assert project.run("explain", "int-table-init").stdout == page
    assert project.run("explain", "LNI001").stdout == page


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(project: Project, flag: str) -> None:
    assert project.run(flag).stdout == f"lintinit {__version__}\n"


def test_help_tells_of_every_command(project: Project) -> None:
    text = project.run("--help").stdout
    assert project.run("-h").stdout == text
    listed = dict(re.findall(r"^  (\w+)  +(\S.*)$", text.partition("Commands:\n")[2], re.MULTILINE))
    assert listed == {
        "audit": "Find unwritten state of a real module.",
        "check": "Check files and folders (default: the current folder).",
        "explain": "Print the page of a rule.",
        "fix": "Repair what check finds.",
        "rules": "List the rules.",
        "verify": "Execute routing, or a module's forward pass.",
    }


@pytest.mark.parametrize("command", list(main.commands.values()), ids=lambda command: str(command.name))
def test_help_tells_of_every_option(project: Project, command: click.Command) -> None:
    text = " ".join(project.run(str(command.name), "--help").stdout.split())
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert all(name in text for name in option.opts)
            assert option.help
            assert option.help.split("  ")[0] in text


def test_help_tells_of_exit_statuses(project: Project) -> None:
    assert project.run("check", "--help").stdout.endswith(
        """
  Exit status:
    0  nothing at or above --fail-on
    1  findings
    2  something could not be checked: a bad path, a file with a syntax error, ...
"""
    )


def test_as_a_module(project: Project) -> None:
    project.write("a.py", TABLE)
    result = python("-m", "lintinit", "check", "--output-format", "concise", cwd=project.folder)
    assert result.stdout == f"a.py:{TABLE_FOUND}\n1 error, 0 warnings in 1 file\n"
    assert (result.stderr, result.returncode) == ("", 1)
    assert python("-m", "lintinit", "--version", cwd=project.folder).stdout == f"lintinit {__version__}\n"
    assert "Usage: python -m lintinit check" in python("-m", "lintinit", "check", "-h", cwd=project.folder).stdout
