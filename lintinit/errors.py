"""What goes wrong, as values with fields; the text is made in one place."""

from __future__ import annotations

from pathlib import Path


class LintinitError(Exception):
    """Something the user can act on; ends the command with exit status 2 and no traceback."""


class Diagnostic(LintinitError):
    """One file could not be checked; the run goes on without it."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message
