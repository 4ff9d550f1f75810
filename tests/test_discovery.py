"""Which files a run checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from lintinit.discovery import DEFAULT_EXCLUDES, Excludes, discover


def names(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.path.as_posix() for file in discover(map(Path, paths), [Excludes(Path.cwd(), exclude)])]


def test_python_files_by_name_depth_first(project: Project) -> None:
    for name in ("b.py", "a/z.py", "a/stubs.pyi", "a/b/c.py", "notes.md", "script", "a.pyc"):
        project.write(name, "")
    assert names(".") == ["a/b/c.py", "a/stubs.pyi", "a/z.py", "b.py"]
    assert names("script", "b.py", "a/b") == ["script", "b.py", "a/b/c.py"]


def test_folder_with_the_name_of_a_file(project: Project) -> None:
    project.write("x.py/y.py", "")
    assert names(".") == names("x.py") == ["x.py/y.py"]


@pytest.mark.parametrize("folder", DEFAULT_EXCLUDES)
def test_folders_without_code_of_the_project(project: Project, folder: str) -> None:
    project.write(f"{folder}a.py", "")
    project.write(f"src/{folder}a.py", "")
    project.write("src/a.py", "")
    assert names(".") == ["src/a.py"]
    assert names(folder) == [f"{folder}a.py"], "somebody names it"


def test_git_ignores(project: Project) -> None:
    for name in ("a.py", "gen_a.py", "src/gen_b.py", "src/b.py", "src/keep/gen_c.py", "out/d.py"):
        project.write(name, "")
    project.write(".gitignore", "gen_*\nout/\n!\n")
    project.write("src/.gitignore", "/b.py\n")
    project.write("src/keep/.gitignore", "!gen_c.py\n")
    assert names(".") == ["a.py", "src/keep/gen_c.py"]
    assert names("src") == ["src/keep/gen_c.py"], "the ignore file above holds"
    assert names("src/b.py") == ["src/b.py"], "somebody names it"


def test_ignore_files_above_the_repository_do_not_hold(project: Project) -> None:
    project.write("a.py", "")
    project.write("../.gitignore", "*.py\n")
    assert names(".") == ["a.py"]


def test_excludes_have_the_last_word(project: Project) -> None:
    for name in ("a.py", "b/a.py", "b/c.py"):
        project.write(name, "")
    project.write(".gitignore", "!b/\n!*.py\n")
    assert names(".", exclude=("b/",)) == ["a.py"]
    assert names(".", exclude=("/a.py",)) == ["b/a.py", "b/c.py"]
    assert names(".", exclude=("*.py", "!b/c.py")) == ["b/c.py"]


def test_links(project: Project) -> None:
    real = project.write("real/a.py", "")
    (project.folder / "again.py").symlink_to(real)
    (project.folder / "folder").symlink_to("real")
    (project.folder / "folder.py").symlink_to("real")
    (project.folder / "real" / "up").symlink_to("..")
    assert names(".") == ["again.py"], "the file once, and no folder through a link"
    assert names("folder") == ["folder/a.py"], "somebody names it"
