"""One file checked: bytes in, findings out. Prints nothing, writes nothing, executes nothing it reads."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lintinit.errors import Diagnostic
from lintinit.finding import Finding
from lintinit.parsing import check_syntax
from lintinit.prescan import Prescan
from lintinit.program import Program
from lintinit.rule import Rule
from lintinit.source import Block, SourceFile
from lintinit.suppress import suppress

if TYPE_CHECKING:
    from lintinit.fixes.defaults import Default


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file."""

    findings: tuple[Finding, ...] = ()
    errors: tuple[Diagnostic, ...] = ()
    #: Whether anything of it had to be parsed.
    parsed: bool = False


#: What an engine keeps for the files to come: bytes of text, and characters of it parsed, which take much more.
_TEXT, _PARSED = 24_000_000, 600_000


class Engine:
    """Checks the files of one program with some rules; keeps what one file taught for the next."""

    def __init__(
        self,
        rules: Sequence[Rule],
        roots: Iterable[Path] = (),
        prescan: bool = True,
        defaults: Iterable[tuple[str, Default]] = (),
    ) -> None:
        self._rules = rules
        self._defaults = dict(defaults)
        self._program = Program(roots)
        self._uses_prescan = prescan
        self._prescan = Prescan(self._program)

    def check_path(self, path: Path, strict: bool = False) -> FileResult:
        """Read a file and check it; one that cannot be read is a diagnostic."""
        try:
            source = SourceFile(path, _read(path))
        except OSError as error:
            return FileResult((), (Diagnostic(path, 1, f"cannot be read: {error.strerror}"),))
        self._program.add(source)
        result = self.check(source, strict)
        if self._program.trim(_TEXT, _PARSED):
            self._prescan.forget_files()
        return result

    def replace(self, source: SourceFile) -> None:
        """Take *source* for what is in its file from now on."""
        self._program.add(source)
        self._prescan.forget_files()

    def check(self, source: SourceFile, strict: bool = False) -> FileResult:
        """The findings of *source* and what stood in the way; *strict* looks for syntax errors everywhere.

        A rule that fails is reported for this file and does not end anything else.
        """
        try:
            blocks = self._candidates(source)
            if strict and (error := check_syntax(source.text, source.path)) is not None:
                return FileResult((), (error,), True)
            if not blocks:
                return FileResult()
        except Diagnostic as error:
            return FileResult((), (error,))
        findings: list[Finding] = []
        errors: list[Diagnostic] = []
        for rule in self._rules:
            try:
                findings += self._apply(rule, source, blocks)
            except Diagnostic as error:
                errors.append(error)
            except (Exception, SystemExit) as error:
                errors.append(Diagnostic(source.path, 1, f"rule {rule.name} failed: {type(error).__name__}: {error}"))
        return FileResult(tuple(suppress(source, findings)), tuple(errors), True)

    def _candidates(self, source: SourceFile) -> list[Block]:
        return self._prescan.candidates(source) if self._uses_prescan else source.blocks

    def _apply(self, rule: Rule, source: SourceFile, blocks: list[Block]) -> Iterable[Finding]:
        from lintinit.model.file_model import FileModel  # not needed for a tree without candidates

        return list(rule.check(FileModel(self._program, source, blocks, self._defaults)))


def _read(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "not a regular file")  # a pipe may never end
    return path.read_bytes()
