"""Files that cannot be checked: a line about each, exit status 2, and the rest of the run is complete."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from projects import TABLE, TABLE_MESSAGE, Project

from lintinit import discovery, run
from lintinit.semantics.traits import registers

FOUND = f"{{}}:8:9: error[int-table-init] {TABLE_MESSAGE}"
LINES = TABLE.count("\n")
AFTER = LINES + 1
UNREADABLE: dict[str, tuple[str | bytes, int, str]] = {
    "syntax": (f"{TABLE}def f(:\n", AFTER, "syntax error: invalid syntax"),
    "indentation": (
        f"{TABLE}if x:\npass\n",
        AFTER + 1,
        "syntax error: expected an indented block after 'if' statement",
    ),
    "never closed": (f"{TABLE}\nx = (1,\n\n", AFTER + 1, "syntax error: '(' was never closed"),
    "null": (f"{TABLE}x = 1\n\0\n", AFTER + 1, "source contains a null byte"),
    "utf-8": (TABLE.encode() + b"# \xff\n", AFTER, "cannot decode: 'utf-8' codec can't decode byte 0xff in position"),
    "utf-16": (TABLE.encode("utf-16"), 1, "cannot decode: "),
    "unknown cookie": (f"# coding: nonsense\n{TABLE}", 1, "cannot decode: unknown encoding: nonsense"),
    "cookie of no text": (f"# coding: hex\n{TABLE}", 1, "cannot decode: 'hex' is not a text encoding"),
    "cookie against mark": (f"\ufeff# coding: latin-1\n{TABLE}", 1, "cannot decode: encoding problem: utf-8"),
    "brackets": (f"{TABLE}x = {'(' * 10_000}{')' * 10_000}\n", AFTER, "syntax error: too many nested parentheses"),
    "signs": (f"{TABLE}x = {'-' * 100_000}1\n", 1, "syntax error: nested too deeply"),
    "sum": (f"{TABLE}x = 1{' + 1' * 100_000}\n", 1, "syntax error: nested too deeply"),
    "attributes": (f"{TABLE}x = a{'.a' * 100_000}\n", 1, "syntax error: nested too deeply"),
    "elif": (f"{TABLE}if a: pass\n" + "elif a: pass\n" * 20_000, 1, "syntax error: nested too deeply"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_text(project: Project, name: str) -> None:
    content, line, message = UNREADABLE[name]
    project.write("a.py", TABLE)
    project.write("b.py", content)
    project.write("c.py", TABLE)
    lines = project.check()
    assert lines[:2] == [FOUND.format("a.py"), FOUND.format("c.py")]
    assert lines[2].startswith(f"b.py:{line}:1: failed: {message}")
    assert lines[3:] == ["exit 2"]
    assert project.check("b.py") == lines[2:], "the same where it is named"


def test_words_and_line_of_a_syntax_error_are_those_of_python(project: Project) -> None:
    path = project.write("b.py", f"{TABLE}\nfor x in (1, 2):\n    print(x))\n")
    with pytest.raises(SyntaxError) as caught:
        compile(path.read_bytes(), "b.py", "exec")
    assert project.errors() == {"b.py": (caught.value.lineno, f"syntax error: {caught.value.msg}")}
    assert caught.value.lineno == AFTER + 2


def test_syntax_error_in_a_file_without_candidates(project: Project) -> None:
    project.write("b.py", "x = 1\ny = = 2\n")
    assert project.check() == ["b.py:2:1: failed: syntax error: invalid syntax", "exit 2"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python knows this syntax")
def test_syntax_of_a_newer_python_is_no_error_where_libcst_knows_it(project: Project) -> None:
    content = TABLE.replace("class Router", "def first[T](x: T) -> T:\n    return x\n\n\nclass Router")
    project.write("b.py", content)
    assert [f["line"] for f in project.report()["findings"]] == [12]
    assert project.errors() == {}


@pytest.mark.parametrize("name", ["syntax", "null", "utf-8", "unknown cookie", "brackets", "signs"])
@pytest.mark.parametrize("how", ["from broken import DTYPE, Base", "from broken import *", "import broken"])
def test_broken_file_that_is_only_imported(project: Project, name: str, how: str) -> None:
    project.write("broken.py", UNREADABLE[name][0])
    project.write("a.py", TABLE.replace("from torch import nn\n", f"from torch import nn\n{how}\n", 1))
    assert project.check("a.py") == [FOUND.format("a.py").replace(":8:", ":9:"), "exit 1"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything can be read")
def test_forbidden_file_and_folder(project: Project) -> None:
    project.write("a.py", TABLE)
    for name in ("b.py", "c/d.py"):
        project.write(name, TABLE)
    for name in ("b.py", "c"):
        (project.folder / name).chmod(0)
    assert project.check() == [
        FOUND.format("a.py"),
        "b.py:1:1: failed: cannot be read: Permission denied",
        "c:1:1: failed: cannot be listed: Permission denied",
        "exit 2",
    ]
    (project.folder / "c").chmod(0o700)


def test_forbidden_file_and_folder_for_somebody_who_may_everything(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py", "c/d.py"):
        project.write(name, TABLE)
    refuse(monkeypatch, Path, "read_bytes", "b.py")
    refuse(monkeypatch, os, "scandir", "c")
    assert project.check() == [
        FOUND.format("a.py"),
        "b.py:1:1: failed: cannot be read: Permission denied",
        "c:1:1: failed: cannot be listed: Permission denied",
        "exit 2",
    ]
    assert project.report()["summary"]["files"] == 2
    result = project.run("check", "c")
    assert (
        result.stdout
        == """\
failed: cannot be listed: Permission denied
 --> c:1

0 errors, 0 warnings in 0 files; 1 problem kept files from being checked
"""
    )
    assert (result.stderr, result.exit_code) == ("", 2)


def refuse(monkeypatch: pytest.MonkeyPatch, owner: object, function: str, name: str) -> None:
    real = getattr(owner, function)

    def refusing(path: Path) -> object:
        if Path(path).name == name:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(owner, function, refusing)


def test_file_that_vanishes_during_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py", "c.py"):
        project.write(name, TABLE)

    def discover(*arguments: object) -> list[discovery.Found]:
        found = list(discovery.discover(*arguments))  # type: ignore[arg-type]
        (project.folder / "b.py").unlink()
        return found

    monkeypatch.setattr(run, "discover", discover)
    assert project.check() == [
        FOUND.format("a.py"),
        FOUND.format("c.py"),
        "b.py:1:1: failed: cannot be read: No such file or directory",
        "exit 2",
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files")
@pytest.mark.parametrize("arguments", [(), ("-j", "2"), ("pipe.py", "link.py", "a.py")])
def test_pipe(project: Project, arguments: tuple[str, ...]) -> None:
    project.write("a.py", TABLE)
    os.mkfifo(project.folder / "pipe.py")
    (project.folder / "link.py").symlink_to("pipe.py")
    # The link and the pipe are one file, and it comes under the name that is met first.
    name = "pipe.py" if arguments[:1] == ("pipe.py",) else "link.py"
    assert project.check(*arguments) == [
        FOUND.format("a.py"),
        f"{name}:1:1: failed: cannot be read: not a regular file",
        "exit 2",
    ]


def test_links_to_nothing_and_to_themselves(project: Project) -> None:
    project.write("a.py", TABLE)
    (project.folder / "broken.py").symlink_to("nowhere.py")
    (project.folder / "loop.py").symlink_to("loop.py")
    (project.folder / "pole.py").symlink_to("loop2.py")
    (project.folder / "loop2.py").symlink_to("pole.py")
    (project.folder / "below").symlink_to(".")
    lines = project.check()
    assert lines[0] == FOUND.format("a.py")
    assert lines[-1] == "exit 2"
    assert lines[1:-1] == [
        "broken.py:1:1: failed: cannot be read: No such file or directory",
        "loop.py:1:1: failed: cannot be read: Too many levels of symbolic links",
        "loop2.py:1:1: failed: cannot be read: Too many levels of symbolic links",
        "pole.py:1:1: failed: cannot be read: Too many levels of symbolic links",
    ]


@pytest.mark.parametrize("line", ["x = '{}'\n", "# {}\n"])
def test_line_of_ten_megabytes(project: Project, line: str) -> None:
    project.write("a.py", line.format("a" * 10_000_000) + TABLE)
    assert project.check() == [FOUND.format("a.py").replace(":8:", ":9:"), "exit 1"]


def test_registrations_are_found_in_long_words_without_delay() -> None:
    assert registers("x = ModelWeightParameter(data)")
    assert registers("from a import FusedParameter")
    assert registers("cls = layers.ScaleBuffer")
    assert not registers("x = " + "a" * 1_000_000)


def test_pipe_beside_the_checked_file(project: Project) -> None:
    project.write("p/__init__.py", "")
    project.write("p/router.py", TABLE)
    os.mkfifo(project.folder / "p/pipe.py")
    assert len(project.report("p/router.py")["findings"]) == 1


def test_coding_that_decodes_nothing(project: Project) -> None:
    project.write("a.py", f"# coding: undefined\n{TABLE}")
    [error] = project.report()["errors"]
    assert error["message"].startswith("cannot decode: ")


def test_long_runs_of_blanks_cost_no_more_than_their_length(project: Project) -> None:
    project.write("a.py", f"{TABLE}x = [\n{' ' * 50_000}1]\n")
    assert len(project.report()["findings"]) == 1
