"""Small trees of files to check, and the command line run on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from lintinit.cli import main

#: One error: a table that nothing fills and that is read as an index.
TABLE = """\
import torch
from torch import nn


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.empty(8, 2, dtype=torch.int32), requires_grad=False)

    def forward(self, tokens):
        return tokens[self.table]
"""
#: One warning: quantised payload.
PAYLOAD = """\
import torch
from torch import nn


class PackedLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight_packed", torch.empty(8, dtype=torch.int32))
"""
FILLED = TABLE.replace("torch.empty", "torch.zeros")
TABLE_LINE, TABLE_MESSAGE = (
    8,
    ("integer parameter `table` is allocated by `torch.empty` and never filled, but read as an index"),
)


class Project:
    """A folder that is checked as if a person stood in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        """``lintinit ARGUMENTS``; what it raises, the test raises too."""
        return CliRunner().invoke(main, arguments, catch_exceptions=False, prog_name="lintinit", input=stdin)

    def check(self, *arguments: str) -> list[str]:
        """``lintinit check``, a line for each finding and problem, and the exit status as the last."""
        result = self.run("check", "--output-format", "concise", *arguments)
        return [*result.stdout.splitlines()[:-1], f"exit {result.exit_code}"]

    def report(self, *arguments: str) -> dict[str, Any]:
        """What ``lintinit check`` says to programs."""
        report = json.loads(self.run("check", "--output-format", "json", *arguments).stdout)
        assert isinstance(report, dict)
        return report

    def errors(self, *arguments: str) -> dict[str, tuple[int, str]]:
        """Line and message of what could not be checked, by path."""
        return {error["path"]: (error["line"], error["message"]) for error in self.report(*arguments)["errors"]}


def python(
    *arguments: str, cwd: Path, path: Path | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """A Python of its own, with *path* to import from."""
    environment = {**os.environ, "PYTHONPATH": str(path or ""), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
