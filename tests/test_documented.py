"""Rules, their pages, README, CHANGELOG and pyproject.toml say the same."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from conftest import ROOT
from projects import Project
from torch import nn

from lintinit import __version__, registry
from lintinit.cli import check, main
from lintinit.rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RULES = [rule for rule in registry.rules() if rule.check.__module__.startswith("lintinit.rules.")]
FIXES = {"never": "none yet", "sometimes": "sometimes", "always": "always"}


def test_rules_modules_pages_and_entry_points_are_the_same() -> None:
    entries = PYPROJECT["project"]["entry-points"]["lintinit.rules"]
    modules = {path.stem for path in (ROOT / "rules").glob("[!_]*.py")}
    assert entries == {name.replace("_", "-"): f"lintinit.rules.{name}:RULE" for name in modules}
    assert {path.stem for path in (ROOT / "rules").glob("*.md")} == modules
    assert {rule.name for rule in RULES} == entries.keys()
    assert len({rule.code for rule in RULES}) == len(RULES) >= 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_page(rule: Rule) -> None:
    page = (ROOT / "rules" / f"{rule.name.replace('-', '_')}.md").read_text(encoding="utf-8")
    assert page == registry.page(rule)
    title, _, summary, _, header, _, row, *_ = page.splitlines()
    assert title == f"# {rule.name} ({rule.code})"
    assert summary.removeprefix("An ").removeprefix("A ").removesuffix(".") == rule.summary
    assert header == "| Severity | Since | Fix |"
    severity, since, fix = (cell.strip() for cell in row.strip("|").split("|"))
    assert re.split(r"\W", severity)[0] == rule.severity
    assert since == rule.since
    assert fix == FIXES[rule.fix]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_readme_and_changelog_list_it(rule: Rule) -> None:
    link = f"[`{rule.name}`](rules/{rule.name.replace('-', '_')}.md)"
    assert f"| {rule.code} | {link} | {rule.severity} | {rule.summary} |\n" in README
    versions = dict(re.findall(r"^## ([\d.]+)[^\n]*\n(.*?)(?=^## |\Z)", CHANGELOG, re.MULTILINE | re.DOTALL))
    assert f"`{rule.name}` ({rule.code})" in versions[rule.since]


def test_changelog_begins_with_this_version() -> None:
    assert re.findall(r"^## ([\d.]+)", CHANGELOG, re.MULTILINE)[0] == __version__


def test_readme_names_commands_options_and_formats_that_exist() -> None:
    options = {
        name
        for command in main.commands.values()
        for option in command.params
        for name in option.opts
        if name.startswith("--")
    }
    assert set(re.findall(r"--[a-z][\w-]+", README)) <= options
    [formats] = [option.type.choices for option in check.params if option.name == "output_format"]  # type: ignore[attr-defined]
    assert all(f"`{name}`" in CHANGELOG for name in formats)
    assert set(re.findall(r"--output-format (\w+)", README)) <= set(formats)
    assert (
        set(re.findall(r"\blintinit ([a-z]+)\b(?=.*$)", "\n".join(commands_shown()), re.MULTILINE))
        <= main.commands.keys()
    )


def commands_shown() -> list[str]:
    return re.findall(r"^\$ (.*)$", README, re.MULTILINE)


def test_readme_shows_what_audit_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [(arguments, printed)] = re.findall(r"^\$ lintinit (audit .+)\n((?:.+\n)+?)```$", README, re.MULTILINE)
    result = CliRunner().invoke(main, arguments.split())
    assert (result.stdout, result.exit_code) == (printed, 1)


def test_readme_shows_a_forward_pass_that_the_table_makes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [arguments] = [line for line in commands_shown() if "--inputs" in line]
    result = CliRunner().invoke(main, [*arguments.split()[1:], "--device", "cpu"])
    assert "caused by `token_to_expert`, which nothing wrote" in result.stdout
    assert result.exit_code == 1


def test_readme_shows_a_test_that_finds_it() -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"MyLayer": Leftover}
    exec(code, names)
    with pytest.raises(AssertionError, match=r"`rows` of Leftover \(int64\[8\]\): 8 of 8 elements never written"):
        names["test_layer_is_initialized"]()


class Leftover(nn.Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.empty(hidden_size, dtype=torch.int64))


def test_readme_shows_settings_that_work(project: Project) -> None:
    [settings] = re.findall(r"^```toml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    project.write("pyproject.toml", settings)
    project.write("third_party/a.py", "")
    project.write("b.py", "")
    assert project.report()["summary"]["files"] == 1


def test_ci_runs_the_command_for_all_tests_that_readme_shows() -> None:
    command = "pip install {}-e '.[test]' && python -m pytest"
    assert f"python -m {command.format('')}" in commands_shown()
    assert command.format("-q ") in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
