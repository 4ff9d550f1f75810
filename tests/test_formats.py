"""What the three formats look like."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from projects import FILLED, PAYLOAD, TABLE, TABLE_MESSAGE, Project, python

from lintinit.cli import main

SCHEMA = json.loads(files("lintinit.reporters").joinpath("schema.json").read_text(encoding="utf-8"))
BROKEN = "def (:\n"
SUPPRESSED = TABLE.replace("=False)", "=False)  # lintinit: ignore")


def valid(document: dict[str, Any]) -> bool:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(document)
    return True


def test_full(project: Project) -> None:
    project.write("router.py", TABLE)
    assert (
        project.run("check").stdout
        == """\
error[int-table-init]: integer parameter `table` is allocated by `torch.empty` and never filled, but read as an index
  --> router.py:8:9
   |
 8 |         self.table = nn.Parameter(torch.empty(8, 2, dtype=torch.int32), requires_grad=False)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ registered here
   |                                   ------------------------------------ allocated here
...
11 |         return tokens[self.table]
   |                ------------------ read as an index here
   |
   = help: lintinit explain int-table-init

1 error, 0 warnings in 1 file
"""
    )


def test_full_shows_warnings_problems_and_counts(project: Project) -> None:
    project.write("broken.py", BROKEN)
    project.write("packed.py", PAYLOAD)
    project.write("suppressed.py", SUPPRESSED)
    assert (
        project.run("check").stdout
        == """\
warning[int-table-init]: integer buffer `weight_packed` is allocated by `torch.empty` and never filled (packed weight)
 --> packed.py:8:9
  |
8 |         self.register_buffer("weight_packed", torch.empty(8, dtype=torch.int32))
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ registered here
  |                                               --------------------------------- allocated here
  |
  = help: lintinit explain int-table-init

failed: syntax error: invalid syntax
 --> broken.py:1

0 errors, 1 warning in 3 files (1 suppressed); 1 problem kept files from being checked
"""
    )


def test_full_puts_carets_under_wide_characters_and_tabs(project: Project) -> None:
    project.write(
        "wide.py",
        TABLE.replace("        ", "\t\t").replace("    ", "\t").replace("self.table", "self.\u8868\u683c"),
    )
    frame = project.run("check").stdout.splitlines()[2:9]
    assert frame == [
        "   |",
        " 8 |         self.\u8868\u683c = nn.Parameter(torch.empty(8, 2, dtype=torch.int32), requires_grad=False)",
        "   |         " + "^" * 83 + " registered here",
        "   |                                  " + "-" * 36 + " allocated here",
        "...",
        "11 |         return tokens[self.\u8868\u683c]",
        "   |                " + "-" * 17 + " read as an index here",
    ]


def test_full_counts_no_column_for_combining_characters_and_hides_control_characters(project: Project) -> None:
    line = 'self.note, self.t = "e\u0301\x1b[31m\u202e", nn.Parameter(torch.empty(8, dtype=torch.int32), False)'
    project.write("odd.py", TABLE.replace(TABLE.splitlines()[7].strip(), line))
    frame = project.run("check").stdout.splitlines()[3:6]
    assert frame == [
        "8 |         " + line.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd"),
        "  |         " + "^" * 85 + " registered here",
        "  | " + " " * 52 + "-" * 33 + " allocated here",
    ]


def test_full_cuts_endless_lines(project: Project) -> None:
    begin = 'x = "' + "a" * 5000 + '"; '
    statement = TABLE.splitlines()[7].strip()
    project.write("right.py", TABLE.replace(statement, begin + statement))
    project.write("left.py", TABLE.replace(statement, f"{statement}; {begin}"))
    lines = project.run("check").stdout.splitlines()
    assert max(map(len, lines)) < 400
    shown = [line for line in lines if line.startswith(" 8 | ")]
    assert shown[0].startswith(f" 8 |         {statement}; x = ")
    assert shown[0].endswith("aaa...")
    assert shown[1].startswith(" 8 | ...aaa")
    assert shown[1].endswith(statement)
    carets = [line for line in lines if "^" in line]
    assert [line.index("^") for line in carets] == [row.index("self.table") for row in shown]


def test_concise(project: Project) -> None:
    project.write("a.py", TABLE)
    project.write("b.py", BROKEN)
    project.write("c.py", SUPPRESSED)
    assert (
        project.run("check", "--output-format", "concise").stdout
        == f"""\
a.py:8:9: error[int-table-init] {TABLE_MESSAGE}
b.py:1:1: failed: syntax error: invalid syntax
1 error, 0 warnings in 3 files (1 suppressed); 1 problem kept files from being checked
"""
    )


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """*text* with edits as an editor applies them: from the last to the first, those at one place in order."""
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    places = [(starts[e["line"] - 1] + e["column"] - 1, starts[e["end_line"] - 1] + e["end_column"] - 1) for e in edits]
    backwards = sorted(range(len(edits)), key=lambda at: (places[at], at), reverse=True)
    for (start, end), edit in ((places[at], edits[at]) for at in backwards):
        text = text[:start] + edit["text"] + text[end:]
    return text


def test_json(project: Project) -> None:
    project.write("pkg/router.py", TABLE)
    project.write("pkg/broken.py", f"x = 1\n{BROKEN}")
    report = project.report()
    assert valid(report)
    fix = report["findings"][0]["fix"]
    assert (fix["title"], fix["safety"]) == (
        "fill `table` by default with zeros (no other value is known to be in range)",
        "safe",
    )
    assert applied(TABLE, fix["edits"]) == project.run("fix", "-", "--stdin-filename", "a.py", stdin=TABLE).stdout
    assert report == {
        "version": 1,
        "findings": [
            {
                "path": "pkg/router.py",
                "line": 8,
                "column": 9,
                "end_line": 8,
                "end_column": 93,
                "rule": "int-table-init",
                "code": "LNI001",
                "severity": "error",
                "confidence": "high",
                "message": TABLE_MESSAGE,
                "attribute": "table",
                "owner": "self",
                "class": "Router",
                "dtype": "torch.int32",
                "role": "index",
                "labels": [
                    {"path": "pkg/router.py", "line": 8, "end_line": 8, "text": "allocated here"},
                    {"path": "pkg/router.py", "line": 11, "end_line": 11, "text": "read as an index here"},
                ],
                "fix": fix,
                "suppressed": False,
            }
        ],
        "errors": [{"path": "pkg/broken.py", "line": 2, "message": "syntax error: invalid syntax"}],
        "summary": {"files": 2, "parsed": 2, "errors": 1, "warnings": 0, "fixable": 1},
    }


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        (None, (0, 0, 0)),
        (FILLED, (1, 0, 0)),
        (PAYLOAD, (1, 0, 1)),
        (TABLE + PAYLOAD, (1, 1, 1)),
        (SUPPRESSED, (1, 0, 0)),
    ],
    ids=["no files", "clean", "warning", "both", "suppressed"],
)
def test_json_is_valid_and_counts(project: Project, content: str | None, counts: tuple[int, int, int]) -> None:
    if content is not None:
        project.write("a.py", content)
    report = project.report()
    assert valid(report)
    assert tuple(report["summary"][name] for name in ("files", "errors", "warnings")) == counts
    assert [finding["suppressed"] for finding in report["findings"]] == [content is SUPPRESSED] * len(
        report["findings"]
    )


def test_json_of_all_fixtures_is_valid(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    report = Project(root).report("fixtures")
    assert valid(report)
    assert len(report["findings"]) > 100


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"extra": 1},
        {"findings": [{}]},
        {"errors": [{"path": "a.py", "line": 0, "message": "no such line"}]},
        {"summary": {"files": 1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_schema_is_strict(project: Project, change: dict[str, Any]) -> None:
    report = project.report()
    assert valid(report)
    assert not Draft202012Validator(SCHEMA).is_valid({**report, **change})


@pytest.mark.parametrize("name", [*SCHEMA["$defs"]["finding"]["properties"]])
def test_schema_wants_every_field_of_a_finding(project: Project, name: str) -> None:
    project.write("a.py", TABLE)
    report = project.report()
    del report["findings"][0][name]
    assert not Draft202012Validator(SCHEMA).is_valid(report)


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_odd_names_on_a_terminal_that_cannot_show_them(project: Project, form: str) -> None:
    project.write("new\nline.py", TABLE.replace("table", "\u8868"))
    undecodable = Path(os.fsdecode(os.fsencode(project.folder) + b"/\xff.py"))
    undecodable.write_text(TABLE)
    code = (
        "import sys; from lintinit.cli import main; sys.stdout.reconfigure(encoding='latin-1', errors='strict'); main()"
    )
    result = python("-c", code, "check", "--output-format", form, cwd=project.folder)
    assert (result.stderr, result.returncode) == ("", 1)
    assert result.stdout.isascii()
    if form == "json":
        findings = json.loads(result.stdout)["findings"]
        assert [finding["path"] for finding in findings] == ["new\nline.py", "\udcff.py"]
        assert findings[0]["attribute"] == "\u8868"
    else:
        assert r"new\nline.py:8:9" in result.stdout
        assert r"\udcff.py:8:9" in result.stdout
        assert r"`\u8868`" in result.stdout


def test_colours_only_on_a_terminal(project: Project) -> None:
    project.write("a.py", TABLE)
    assert "\x1b[" not in project.run("check").stdout
    coloured = CliRunner().invoke(main, ["check"], color=True).stdout
    assert coloured.startswith("\x1b[31m\x1b[1merror[int-table-init]\x1b[0m: ")
