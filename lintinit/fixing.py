"""``lintinit fix``: the fixes of a file are applied and checked until nothing changes. :func:`fix` is the whole run."""

from __future__ import annotations

import codecs
import dataclasses
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lintinit import registry, run
from lintinit.engine import Engine, FileResult
from lintinit.errors import Diagnostic
from lintinit.finding import Finding, Severity, at_least
from lintinit.remedy import Fix, Refusal, apply, compatible
from lintinit.run import Options
from lintinit.source import SourceFile
from lintinit.writing import replace

#: Rounds of fixing one file; each may only leave less to fix.
_ROUNDS = 50


@dataclass(slots=True)
class Repaired:
    """A file before and after, and what became of each of its findings."""

    path: Path
    before: bytes
    after: bytes
    applied: list[Finding] = field(default_factory=list)
    #: Only ``--unsafe-fixes`` applies these.
    held_back: list[Finding] = field(default_factory=list)
    refused: list[tuple[Finding, str]] = field(default_factory=list)
    #: What was reported before, under names that stay.
    seen: set[tuple[str, str, str]] = field(default_factory=set)

    @property
    def changed(self) -> bool:
        """Whether anything is different."""
        return self.before != self.after

    @property
    def left(self) -> list[Finding]:
        """The findings that are still there."""
        return [*self.held_back, *(finding for finding, _ in self.refused)]


@dataclass(frozen=True, slots=True)
class FixReport:
    """What a run repaired."""

    files: tuple[Repaired, ...]
    errors: tuple[Diagnostic, ...]
    checked: int

    @property
    def changed(self) -> bool:
        """Whether any file is different."""
        return any(file.changed for file in self.files)

    def fails(self, threshold: Severity) -> bool:
        """Whether a finding that is left reaches *threshold*."""
        return any(at_least(finding.severity, threshold) for file in self.files for finding in file.left)


def fix(paths: Sequence[Path], options: Options, unsafe: bool, write: bool) -> FixReport:
    """Check *paths*, repair every file with findings, and put the new files in place if *write* says so."""
    report = run.check(paths, options)
    found: dict[Path, list[Finding]] = {}
    for finding in report.findings:
        if not finding.suppressed:
            found.setdefault(finding.path, []).append(finding)
    errors = list(report.errors)
    files: list[Repaired] = []
    for path, findings in found.items():
        try:
            file = run.deep(lambda path=path: _fix_file(path, paths, options, unsafe))  # type: ignore[misc]
            _add_unseen(file, findings)
            if write and file.changed:
                replace(path, file.before, file.after)
            files.append(file)
        except OSError as error:
            errors.append(Diagnostic(path, 1, f"cannot be read: {error.strerror}"))
        except Diagnostic as error:
            errors.append(error)
    return FixReport(tuple(files), tuple(errors), report.files)


def fix_input(data: bytes, path: Path, options: Options, unsafe: bool) -> FixReport:
    """Repair a file that is given as bytes; imports are looked up beside *path*. One that is bad stays as it is."""
    try:
        file = run.deep(lambda: _repair(SourceFile(path, data), _engine([path.parent], options), options, unsafe))
    except Diagnostic as error:
        return FixReport((Repaired(path, data, data),), (error,), 1)
    return FixReport((file,), (), 1)


def _fix_file(path: Path, paths: Iterable[Path], options: Options, unsafe: bool) -> Repaired:
    return _repair(SourceFile(path, path.read_bytes()), _engine(run.roots(paths), options), options, unsafe)


def _engine(roots: Iterable[Path], options: Options) -> Engine:
    return Engine(registry.select(options.rules), roots, options.prescan, options.defaults)


def _add_unseen(file: Repaired, findings: list[Finding]) -> None:
    """What only another file's classes show of this one is not repaired here; what is gone since then is no matter."""
    for finding in findings:
        if _key(finding) not in file.seen and isinstance(finding.remedy, Refusal):
            file.refused.append((finding, finding.remedy.reason))


def _repair(source: SourceFile, engine: Engine, options: Options, unsafe: bool) -> Repaired:
    """The loop: apply what fits together, compile, check again, until nothing is left to apply."""
    before = source.data
    file = Repaired(source.path, before, before)
    result = _checked(engine, source)
    file.seen = {_key(finding) for finding in result.findings}
    refused: dict[tuple[str, str, str], str] = {}
    for _ in range(_ROUNDS):
        fixes = [f for f in _counted(result, options) if _applies(f, unsafe) and _key(f) not in refused]
        chosen = compatible([f.remedy for f in fixes if isinstance(f.remedy, Fix)])
        batch = [f for f in fixes if f.remedy in chosen]
        if not batch:
            break
        done = _try(source, engine, result, batch, options)
        if done is None and len(batch) > 1:
            batch = batch[:1]
            done = _try(source, engine, result, batch, options)
        if done is None and (other := _otherwise(batch[0])) is not None:
            engine.replace(source)
            batch = [other]
            done = _try(source, engine, result, batch, options)
        if done is None:
            refused[_key(batch[0])] = "the repaired code would still be reported, or something else would be"
            engine.replace(source)
            continue
        source, result = done
        file.applied += batch
    file.after = source.data
    for finding in _counted(result, options):
        if _key(finding) in refused:
            file.refused.append((finding, refused[_key(finding)]))
        elif isinstance(finding.remedy, Fix):
            file.held_back.append(finding)
        else:
            reason = finding.remedy.reason if isinstance(finding.remedy, Refusal) else "its rule has no repair"
            file.refused.append((finding, reason))
    return file


def _otherwise(finding: Finding) -> Finding | None:
    """The finding with the other way to repair it, if there is one."""
    other = finding.remedy.otherwise if isinstance(finding.remedy, Fix) else None
    return dataclasses.replace(finding, remedy=other) if other is not None else None


def _counted(result: FileResult, options: Options) -> list[Finding]:
    return [f for f in result.findings if not f.suppressed and at_least(f.severity, options.min_severity)]


def _applies(finding: Finding, unsafe: bool) -> bool:
    return isinstance(finding.remedy, Fix) and (unsafe or finding.remedy.safety == "safe")


def _key(finding: Finding) -> tuple[str, str, str]:
    """Names a finding whatever else of its file changes."""
    return (finding.rule, finding.class_name, finding.attribute)


def _checked(engine: Engine, source: SourceFile) -> FileResult:
    engine.replace(source)
    result = engine.check(source, strict=True)
    for error in result.errors:
        raise error
    # What it shows of other files is repaired there.
    return FileResult(tuple(f for f in result.findings if f.path == source.path), (), result.parsed)


def _try(
    source: SourceFile, engine: Engine, result: FileResult, batch: list[Finding], options: Options
) -> tuple[SourceFile, FileResult] | None:
    """The file with *batch* repaired, if it compiles and nothing is reported in it but what was before."""
    text = apply(source.decoded, [finding.remedy for finding in batch if isinstance(finding.remedy, Fix)])
    data = _encoded(source, text)
    if _compiles(source.data, source.path) and not _compiles(data, source.path):
        raise Diagnostic(source.path, 1, "is not fixed: the repaired file would not compile; please report this")
    repaired = SourceFile(source.path, data)
    try:
        after = _checked(engine, repaired)
    except Diagnostic:
        return None
    expected = Counter(map(_key, result.findings)) - Counter(map(_key, batch))
    if Counter(map(_key, after.findings)) - expected:
        return None
    return repaired, after


def _encoded(source: SourceFile, text: str) -> bytes:
    """*text* in the encoding of *source*, whose other bytes must come out as they went in."""
    encoding = "utf-8" if source.encoding == "utf-8-sig" else source.encoding
    mark = codecs.BOM_UTF8 if source.data.startswith(codecs.BOM_UTF8) else b""
    if mark + source.decoded.encode(encoding) != source.data:
        raise Diagnostic(source.path, 1, f"is not fixed: its bytes are not what {encoding} writes")
    return mark + text.encode(encoding)


def _compiles(data: bytes, path: Path) -> bool:
    """Whether Python takes *data* for a module; nothing of it is executed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
