"""A file is the old one or the new one, whatever happens while ``lintinit fix`` writes it."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from projects import TABLE, Project

from lintinit import writing
from lintinit.errors import Diagnostic
from lintinit.fixing import fix_input
from lintinit.run import Options

#: Fixes a folder again and again: whenever it is done it starts over from the old files.
ENDLESS = """\
import sys
from pathlib import Path
from lintinit.writing import replace
folder, old, new = Path(sys.argv[1]), Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]).read_bytes()
print("ready", flush=True)
while True:
    for path in sorted(folder.glob("*.py")):
        before = path.read_bytes()
        replace(path, before, new if before == old else old)
"""
KILLS = 200
FILES = 10


def old_and_new(size: int = 1) -> tuple[bytes, bytes]:
    old = (TABLE + "\n# and more of the same text\n" * size).encode()
    report = fix_input(old, Path("a.py"), Options(), unsafe=False)
    assert report.files[0].changed
    return old, report.files[0].after


def lintinit(*arguments: str, cwd: Path, **keywords: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "lintinit", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


def left_over(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix != ".py")


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Two hundred times, while it does nothing but write: no file is ever anything between old and new."""
    old, new = old_and_new(20_000)
    folder = tmp_path / "folder"
    folder.mkdir()
    for at in range(FILES):
        (folder / f"m{at}.py").write_bytes(old)
    (tmp_path / "old").write_bytes(old)
    (tmp_path / "new").write_bytes(new)
    chance = random.Random(0)
    interrupted = 0
    for _ in range(KILLS):
        driver = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(folder), str(tmp_path / "old"), str(tmp_path / "new")],
            stdout=subprocess.PIPE,
        )
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0, 0.03))
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        driver.stdout.close()
        contents = {path.read_bytes() for path in folder.glob("*.py")}
        assert contents <= {old, new}
        assert len(list(folder.glob("*.py"))) == FILES
        interrupted += len(left_over(folder)) > 0
        for path in left_over(folder):
            assert path.name.startswith(".m")
            path.unlink()
    assert interrupted > 0  # otherwise none of the kills hit a write


def test_command_killed_at_random_moments(project: Project) -> None:
    old, new = old_and_new()
    chance = random.Random(1)
    for _ in range(6):
        for at in range(FILES):
            project.write(f"m{at}.py", old)
        running = lintinit("fix", ".", cwd=project.folder)
        time.sleep(chance.uniform(0.2, 1.2))
        running.kill()
        running.communicate()
        assert {path.read_bytes() for path in project.folder.glob("*.py")} <= {old, new}
    assert project.run("fix", ".").exit_code == 0
    assert {path.read_bytes() for path in project.folder.glob("*.py")} == {new}


def test_what_a_killed_run_left_is_removed(project: Project) -> None:
    old, _ = old_and_new()
    project.write("a.py", old)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = project.write(f".a.py.lintinit-{gone.pid}", "half")
    mine = project.write(f".b.py.lintinit-{os.getpid()}", "of a run that is alive")
    assert project.run("fix", "a.py").exit_code == 0
    assert not left.exists()
    assert mine.exists()


def test_full_disk(project: Project) -> None:
    """No file may grow beyond a few bytes, so that writing fails half-way."""
    old, _ = old_and_new()
    path = project.write("a.py", old)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    running = lintinit("fix", "a.py", cwd=project.folder, preexec_fn=limit)
    out, _ = running.communicate()
    assert running.returncode == 2
    assert "a.py:1: failed: is not fixed: it cannot be written: File too large" in out
    assert path.read_bytes() == old
    assert [p.name for p in project.folder.iterdir() if p.is_file()] == ["a.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_full_file_system(project: Project) -> None:
    old, _ = old_and_new()
    disk = project.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        path = project.write("disk/a.py", old)
        (disk / "filler").write_bytes(b"x" * 4096)
        result = project.run("fix", "disk")
        assert result.exit_code == 2
        assert "it cannot be written: No space left on device" in result.stdout
        assert path.read_bytes() == old
        assert sorted(p.name for p in disk.iterdir()) == ["a.py", "filler"]
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("what", "reason"),
    [("file", "the file is read-only"), ("folder", "it cannot be written: Permission denied")],
)
def test_read_only(project: Project, monkeypatch: pytest.MonkeyPatch, what: str, reason: str) -> None:
    """Told by the system, since root may write everywhere."""
    old, _ = old_and_new()
    path = project.write("pkg/a.py", old)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    if what == "file":
        monkeypatch.setattr(writing.os, "access", lambda _, mode: mode != os.W_OK)
    else:
        monkeypatch.setattr(writing.os, "open", refuse)
    result = project.run("fix", "pkg")
    monkeypatch.undo()
    assert result.exit_code == 2
    assert f"pkg/a.py:1: failed: is not fixed: {reason}\n" in result.stdout.replace(str(project.folder) + "/", "")
    assert path.read_bytes() == old
    assert [p.name for p in path.parent.iterdir()] == ["a.py"]


def test_changed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"newer")
    with pytest.raises(Diagnostic, match="changed after it was read"):
        writing.replace(path, b"old", b"new")
    assert path.read_bytes() == b"newer"
    assert left_over(tmp_path) == []


def test_changed_meanwhile_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = old_and_new()
    path = project.write("a.py", old)
    put = writing._put

    def late(*arguments: object) -> None:
        path.write_bytes(b"x = 1\n")
        put(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "_put", late)
    result = project.run("fix")
    assert "a.py:1: failed: is not fixed: it changed after it was read; run again\n" in result.stdout
    assert (result.exit_code, path.read_bytes()) == (2, b"x = 1\n")


def test_two_runs_at_once(project: Project) -> None:
    old, new = old_and_new()
    for _ in range(3):
        for at in range(FILES):
            project.write(f"m{at}.py", old)
        both = [lintinit("fix", ".", cwd=project.folder) for _ in range(2)]
        for running in both:
            running.communicate()
        assert {running.returncode for running in both} <= {0, 2}
        assert {path.read_bytes() for path in project.folder.glob("*.py")} == {new}
        assert not [path for path in project.folder.iterdir() if "lintinit-" in path.name]


@pytest.mark.parametrize("mode", [0o755, 0o640, 0o600])
def test_mode_and_links_stay(project: Project, mode: int) -> None:
    old, new = old_and_new()
    path = project.write("real/a.py", old)
    path.chmod(mode)
    link = project.folder / "b.py"
    link.symlink_to(path)
    assert project.run("fix", "b.py").exit_code == 0
    assert link.is_symlink()
    assert path.read_bytes() == new
    assert path.stat().st_mode & 0o777 == mode


def test_nothing_is_written_where_nothing_changes(project: Project) -> None:
    _, new = old_and_new()
    path = project.write("a.py", new)
    before = path.stat()
    assert project.run("fix").exit_code == 0
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
