"""``[tool.lintinit]`` in pyproject.toml."""

from __future__ import annotations

import pytest
from projects import TABLE, Project


def found(project: Project, *paths: str) -> list[str]:
    return [finding["path"] for finding in project.report(*paths)["findings"]]


@pytest.fixture
def tree(project: Project) -> Project:
    for name in ("a.py", "third_party/b.py", "src/gen/c.py", "src/d.py"):
        project.write(name, TABLE)
    return project


def test_excludes_of_the_project(tree: Project) -> None:
    assert found(tree) == ["a.py", "src/d.py", "src/gen/c.py", "third_party/b.py"]
    tree.write("pyproject.toml", '[tool.lintinit]\nexclude = ["third_party/"]\n')
    assert found(tree) == ["a.py", "src/d.py", "src/gen/c.py"]
    assert found(tree, "third_party/b.py") == ["third_party/b.py"], "somebody names it"


def test_excludes_start_from_the_folder_of_the_file(tree: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("pyproject.toml", '[tool.lintinit]\nexclude = ["src/gen/*.py", "/d.py"]\n')
    expected = ["src/d.py"]
    assert found(tree, "src") == expected
    monkeypatch.chdir(tree.folder / "src")
    assert found(tree) == ["d.py"]


def test_nearest_file_holds_and_the_repository_ends_the_search(tree: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.folder.parent / "pyproject.toml").write_text("[tool.lintinit]\nnonsense = 1\n")
    tree.write("pyproject.toml", '[tool.lintinit]\nexclude = ["*.py"]\n')
    tree.write("src/pyproject.toml", "[tool.other]\n")
    assert found(tree, "src") == []
    monkeypatch.chdir(tree.folder / "src")
    assert found(tree) == ["d.py", "gen/c.py"]
    for path in (tree.folder / "pyproject.toml", tree.folder / "src" / "pyproject.toml"):
        path.unlink()
    assert found(tree) == ["d.py", "gen/c.py"]


def test_options_add_to_it_and_may_take_back(tree: Project) -> None:
    tree.write("pyproject.toml", '[tool.lintinit]\nexclude = ["src/"]\n')
    assert found(tree, "--exclude", "third_party") == ["a.py"]
    assert found(tree, "--exclude", "a.py", "--exclude", "b.py") == []
    tree.write("pyproject.toml", '[tool.lintinit]\nexclude = ["*.py"]\n')
    assert found(tree, "--exclude", "!a.py") == ["a.py"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[tool.lintinit]\nexclud = []\n", "{path}: [tool.lintinit] does not know exclud; it knows: defaults, exclude"),
        ('[tool.lintinit]\nexclude = "x"\n', "{path}: [tool.lintinit] exclude must be a list of strings"),
        ("[tool.lintinit]\nexclude = [1]\n", "{path}: [tool.lintinit] exclude must be a list of strings"),
        (
            "[tool.lintinit]\ndefaults = 3\n",
            '{path}: [tool.lintinit.defaults] must hold lines like NAME = "KIND:EXPRESSION"',
        ),
        (
            '[tool.lintinit.defaults]\nt = "random"\n',
            "{path}: [tool.lintinit.defaults] default 'random': no kind 'random'; there is: zeros, arange, ",
        ),
        (
            '[tool.lintinit.defaults]\nt = "cyclic:n +"\n',
            "{path}: [tool.lintinit.defaults] default 'cyclic:n +': write cyclic:EXPRESSION with an expression",
        ),
        ("[tool]\nlintinit = 3\n", "{path}: lintinit must be a table"),
        ("tool = 3\n", "{path}: tool must be a table"),
        (
            "[tool.lintinit\n",
            "cannot read {path}: Expected ']' at the end of a table declaration (at line 1, column 15)",
        ),
        ("\xe9", "cannot read {path}: "),
        ('[tool.lintinit]\nexclude = ["!"]\n', "cannot exclude '!': not a pattern in the form of .gitignore"),
    ],
    ids=[
        "unknown key",
        "text",
        "numbers",
        "defaults",
        "kind",
        "expression",
        "no table",
        "no table above",
        "broken",
        "undecodable",
        "pattern",
    ],
)
def test_nonsense_is_one_line(project: Project, text: str, problem: str) -> None:
    path = project.write("pyproject.toml", text.encode("latin-1"))
    result = project.run("check")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert result.stderr.startswith(f"lintinit: {problem.format(path=path)}")
    assert result.stderr.count("\n") == 1


def test_meaningless_pattern_as_an_option(project: Project) -> None:
    result = project.run("check", "--exclude", "!")
    assert result.stderr == "lintinit: cannot exclude '!': not a pattern in the form of .gitignore\n"
    assert result.exit_code == 2
