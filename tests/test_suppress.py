"""``# lintinit: ignore[...]``: what a comment answers and what it does not."""

from __future__ import annotations

import pytest
from projects import TABLE, Project

STATEMENT = TABLE.splitlines()[7]
LONG = """\
        self.table = nn.Parameter(  {}
            torch.empty(
                8, 2, dtype=torch.int32  {}
            ),
            requires_grad=False,
        )  {}"""


def suppressed(project: Project, statement: str) -> list[bool]:
    project.write("a.py", TABLE.replace(STATEMENT, statement))
    return [finding["suppressed"] for finding in project.report("a.py")["findings"]]


@pytest.mark.parametrize(
    "comment",
    [
        "# lintinit: ignore[int-table-init]",
        "# lintinit: ignore[LNI001]",
        "# lintinit: ignore[other-rule, int-table-init]",
        "# lintinit: ignore[ LNI001 ,other-rule]",
        "# lintinit: ignore",
        "# lintinit: ignore[]",
        "#lintinit:ignore[int-table-init] the checkpoint has it",
        "# LintInit: Ignore",
        "# noqa: E501 # lintinit: ignore[int-table-init] # type: ignore",
    ],
)
def test_answers(project: Project, comment: str) -> None:
    assert suppressed(project, f"{STATEMENT}  {comment}") == [True]


@pytest.mark.parametrize(
    "comment",
    [
        "# lintinit: ignore[no-such-rule]",
        "# lintinit: ignore[int-table]",
        "# lintinit: ignore[INT-TABLE-INIT]",
        "# lintinit: ignore[int-table-init",
        "# lintinit: ignored",
        "# lintinit: ignore-next-line",
        "# lintinit ignore[int-table-init]",
        "# noqa",
    ],
)
def test_does_not_answer(project: Project, comment: str) -> None:
    assert suppressed(project, f"{STATEMENT}  {comment}") == [False]


@pytest.mark.parametrize("line", range(3))
def test_any_line_of_the_statement(project: Project, line: int) -> None:
    comments = ["", "", ""]
    comments[line] = "# lintinit: ignore[int-table-init]"
    assert suppressed(project, LONG.format(*comments)) == [True]
    comments[line] = "# lintinit: ignore[no-such-rule]"
    assert suppressed(project, LONG.format(*comments)) == [False]


def test_lines_around_the_statement_are_others(project: Project) -> None:
    before = "        # lintinit: ignore[int-table-init]\n"
    assert suppressed(project, before + STATEMENT) == [False]
    assert suppressed(project, f"{STATEMENT}\n{before}") == [False]


def test_only_comments_answer(project: Project) -> None:
    text = '"# lintinit: ignore[int-table-init]"'
    assert suppressed(project, f"{STATEMENT}; self.text = {text}") == [False]
    assert suppressed(project, f"        self.text = {text}; {STATEMENT.strip()}  # lintinit: ignore") == [True]


def test_each_statement_for_itself(project: Project) -> None:
    other = STATEMENT.replace("table", "other")
    assert suppressed(project, f"{STATEMENT}  # lintinit: ignore\n{other}") == [True, False]


def test_suppressed_findings_do_not_fail_and_are_counted(project: Project) -> None:
    project.write("a.py", TABLE.replace(STATEMENT, f"{STATEMENT}  # lintinit: ignore"))
    assert project.check() == ["exit 0"]
    assert project.run("check").stdout == "0 errors, 0 warnings in 1 file (1 suppressed)\n"
    assert project.report()["summary"] == {"files": 1, "parsed": 1, "errors": 0, "warnings": 0, "fixable": 0}


@pytest.mark.parametrize("subclass", ["a_first.py", "z_last.py"])
@pytest.mark.parametrize("dtype", ["torch.int32", "dtype"])
def test_comment_in_the_file_of_a_base_class(project: Project, subclass: str, dtype: str) -> None:
    """The base class's own file may show the finding, or only the subclass that says the dtype."""
    base = TABLE.replace("torch.int32", dtype).replace("__init__(self)", "__init__(self, dtype)")
    project.write("base.py", base.replace("=False)", "=False)  # lintinit: ignore"))
    project.write(
        subclass,
        "import torch\nfrom base import Router\n\n\nclass Mine(Router):\n"
        "    def __init__(self):\n        super().__init__(torch.int32)\n",
    )
    findings = project.report()["findings"]
    assert [(finding["path"], finding["suppressed"]) for finding in findings] == [("base.py", True)]
    project.write("base.py", base)
    assert [finding["suppressed"] for finding in project.report()["findings"]] == [False]
