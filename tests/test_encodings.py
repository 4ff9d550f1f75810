"""Places in files of every encoding and every kind of line end: lines from 1, columns from 1 in code points."""

from __future__ import annotations

from typing import Any

import pytest
from projects import TABLE, Project

PLACE = (8, 9, 8, 93)
#: Characters of one, two, three and four bytes, before and inside the statement.
WIDE = TABLE.replace("self.table", "self.t\u00e4\u8868\U00010400").replace(
    "        self.t", '        "\u00e9\U0001f600"; self.t', 1
)
WIDE_PLACE = (8, 15, 8, 98)


def place(finding: dict[str, Any]) -> tuple[int, ...]:
    return tuple(finding[name] for name in ("line", "column", "end_line", "end_column"))


def the_finding(project: Project, content: str | bytes) -> dict[str, Any]:
    project.write("a.py", content)
    report = project.report()
    assert report["errors"] == []
    [finding] = report["findings"]
    assert isinstance(finding, dict)
    return finding


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "bom"])
@pytest.mark.parametrize(("content", "expected"), [(TABLE, PLACE), (WIDE, WIDE_PLACE)], ids=["ascii", "wide"])
def test_line_ends_and_byte_order_mark(
    project: Project, end: str, mark: str, content: str, expected: tuple[int, ...]
) -> None:
    finding = the_finding(project, mark + content.replace("\n", end))
    assert place(finding) == expected
    assert [(label["line"], label["text"]) for label in finding["labels"]] == [
        (8, "allocated here"),
        (11, "read as an index here"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8", "gbk", "shift_jis"])
def test_cookies(project: Project, encoding: str, end: str) -> None:
    text = f"# -*- coding: {encoding} -*-\n{TABLE}".replace(
        "        self.table", '        "\u00d7\u00d7"; self.table', 1
    )
    data = text.replace("\n", end).encode(encoding)
    assert place(the_finding(project, data)) == (9, 15, 9, 99)


def test_mixed_line_ends(project: Project) -> None:
    lines = TABLE.splitlines()
    content = "".join(line + end for line, end in zip(lines, ["\n", "\r\n"] * 6, strict=False))
    assert place(the_finding(project, content)) == PLACE


@pytest.mark.parametrize("separator", ["\x0b", "\x1c", "\x85", "\u2028"])
def test_what_ends_lines_for_str_but_not_for_python(project: Project, separator: str) -> None:
    finding = the_finding(project, TABLE.replace("    def __init__", f'    x = "{separator}"\n    def __init__'))
    assert place(finding) == (9, 9, 9, 93)
    source = project.run("check").stdout
    assert " 9 |         self.table = nn.Parameter(" in source


def test_form_feeds(project: Project) -> None:
    content = TABLE.replace("class", "\f\nclass").replace("    def forward", "\f\n    def forward")
    assert place(the_finding(project, content)) == (9, 9, 9, 93)


@pytest.mark.parametrize("change", [("class Router", "\fclass Router"), ("    def __init__", "\f    def __init__")])
def test_form_feed_before_the_code_of_a_line(project: Project, change: tuple[str, str]) -> None:
    assert place(the_finding(project, TABLE.replace(*change, 1))) == PLACE


def test_carriage_returns_alone(project: Project) -> None:
    assert place(the_finding(project, TABLE.replace("\n", "\r"))) == PLACE


def test_last_line_without_an_end(project: Project) -> None:
    content = TABLE.rpartition("    def forward")[0].rstrip()
    assert place(the_finding(project, content)) == PLACE


def test_tabs_are_one_column(project: Project) -> None:
    assert place(the_finding(project, TABLE.replace("    ", "\t"))) == (8, 3, 8, 87)


def test_statement_over_several_lines(project: Project) -> None:
    content = TABLE.replace(
        "(torch.empty(8, 2, dtype=torch.int32), requires", "(\n  torch.empty(8, 2,\n dtype=torch.int32), requires"
    )
    finding = the_finding(project, content)
    assert place(finding) == (8, 9, 10, 42)
    assert [(label["line"], label["end_line"]) for label in finding["labels"]] == [(9, 10), (13, 13)]


def test_syntax_errors_are_counted_in_the_same_lines(project: Project) -> None:
    for name, end in (("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r")):
        project.write(f"{name}.py", f"\ufeff{TABLE}x = = 1\n".replace("\n", end))
    assert {path: line for path, (line, _) in project.errors().items()} == {"cr.py": 12, "crlf.py": 12, "lf.py": 12}
