"""lintinit as it is installed: from a wheel, from a checkout, and the way README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

import pytest
from conftest import ROOT
from projects import TABLE, TABLE_MESSAGE

from lintinit import __version__

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "rules" / "int_table_init.md").read_text(encoding="utf-8")
#: Build with the setuptools that is here and take nothing from an index: it works without a network.
OFFLINE = ("--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "-q")


@dataclass
class Environment:
    """A virtual environment of its own, which sees the packages that lintinit needs, but not this lintinit."""

    folder: Path

    def __post_init__(self) -> None:
        call(sys.executable, "-m", "venv", "--without-pip", str(self.folder))
        [site] = self.folder.glob("[lL]ib/**/site-packages")
        (site / "needed.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))

    @property
    def scripts(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def pip(self, *arguments: str, cwd: Path | None = None) -> None:
        call(sys.executable, "-m", "pip", "--python", str(self.folder), *arguments, cwd=cwd)

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        program = str(self.scripts / arguments[0])
        return subprocess.run(
            [program, *arguments[1:]],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )


def call(*command: str, cwd: Path | None = None) -> None:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has of the project, so that building leaves nothing in the real one."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("lintinit", "rules", "fixtures/readme"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def works(environment: Environment, folder: Path) -> bool:
    """Whether the three commands do what they should, far away from any checkout."""
    folder.mkdir()
    (folder / "a.py").write_text(TABLE)
    checked = environment.run("lintinit", "check", "--output-format", "concise", cwd=folder)
    assert checked.stdout == f"a.py:8:9: error[int-table-init] {TABLE_MESSAGE}\n1 error, 0 warnings in 1 file\n"
    assert (checked.stderr, checked.returncode) == ("", 1)
    assert environment.run("lintinit", "explain", "int-table-init", cwd=folder).stdout == PAGE
    assert environment.run("lintinit", "rules", cwd=folder).stdout.startswith("LNI001  int-table-init  ")
    assert environment.run("lintinit", "--version", cwd=folder).stdout == f"lintinit {__version__}\n"
    for module, status in (("rules", 1), ("tests", 1), ("lintinit.rules.int_table_init", 0), ("lintinit.model", 0)):
        assert environment.run("python", "-c", f"import {module}", cwd=folder).returncode == status, module
    return True


def test_wheel(checkout: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    call(sys.executable, "-m", "pip", "wheel", *OFFLINE, "-w", str(tmp_path), str(checkout))
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name == f"lintinit-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = message_from_string(archive.read(f"lintinit-{__version__}.dist-info/METADATA").decode())
    sources = {str(path.relative_to(ROOT)) for path in ROOT.glob("lintinit/**/*") if path.suffix in (".py", ".json")}
    rules = {f"lintinit/rules/{path.name}" for path in (ROOT / "rules").iterdir() if path.suffix in (".py", ".md")}
    assert {name for name in names if ".dist-info/" not in name} == sources | rules | {"lintinit/py.typed"}
    needed = [name for name in metadata.get_all("Requires-Dist", []) if "extra ==" not in name]
    assert [re.split(r"\W", name)[0] for name in needed] == ["click", "libcst", "pathspec", "tomli"]
    assert metadata["Requires-Python"] == ">=3.10"
    environment.pip("install", *OFFLINE, str(wheel))
    assert works(environment, tmp_path / "elsewhere")
    assert (
        str(tmp_path) in environment.run("python", "-c", "print(__import__('lintinit').__file__)", cwd=tmp_path).stdout
    )


def test_editable(checkout: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.pip("install", *OFFLINE, "-e", str(checkout))
    assert works(environment, tmp_path / "elsewhere")
    where = environment.run("python", "-c", "print(__import__('lintinit').__file__)", cwd=tmp_path).stdout
    assert Path(where.strip()).resolve() == (checkout / "lintinit" / "__init__.py").resolve()


def test_readme_shows_what_happens(checkout: Path, tmp_path: Path) -> None:
    block = re.search(r"^```console\n\$ (.+)\n((?:.*\n)*?)```$", README, re.MULTILINE)
    assert block is not None
    install, _, command = block[1].partition(" && ")
    assert install == "python -m pip install ."
    environment = Environment(tmp_path / "venv")
    environment.pip("install", *OFFLINE, ".", cwd=checkout)
    assert environment.run(*command.split(), cwd=checkout).stdout == block[2]
