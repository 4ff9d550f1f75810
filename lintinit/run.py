"""A whole run. :func:`check` names every stage of the pipeline, in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lintinit import registry
from lintinit.discovery import Excludes, Found, discover
from lintinit.engine import Engine, FileResult
from lintinit.errors import Diagnostic
from lintinit.finding import Finding, Severity, at_least
from lintinit.fixes.defaults import Default
from lintinit.remedy import Fix

Result = TypeVar("Result")
#: Below this many bytes of source, starting processes costs more than they save.
_WORTH_WORKERS = 1_000_000
#: Up to this many bytes every file is looked at for syntax errors; of a larger tree, only those that hold candidates.
_STRICT = 3_000_000
_BATCH = 24
_STACK = 512 * 1024 * 1024
_DEPTH = 12_000


@dataclass(frozen=True, slots=True)
class Options:
    """What a run checks, and with what."""

    rules: tuple[str, ...] = ()
    excludes: tuple[Excludes, ...] = ()
    min_severity: Severity = "warning"
    jobs: int | None = None
    prescan: bool = True
    #: Default values that fixes take, by attribute.
    defaults: tuple[tuple[str, Default], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found."""

    findings: tuple[Finding, ...]
    errors: tuple[Diagnostic, ...]
    files: int
    parsed: int

    def count(self, severity: Severity) -> int:
        """How many findings of *severity* count, suppressed ones left out."""
        return sum(f.severity == severity and not f.suppressed for f in self.findings)

    def fails(self, threshold: Severity) -> bool:
        """Whether a finding reaches *threshold*."""
        return any(at_least(f.severity, threshold) and not f.suppressed for f in self.findings)


def check(paths: Sequence[Path], options: Options) -> Report:
    """Discover files, check each (prescan, parse, model, rules, suppression: :class:`Engine`), gather a report.

    Raises :class:`LintinitError` where the run cannot start: a path that does not exist, a rule that is not known.
    """
    rules = registry.select(options.rules)
    files = list(discover(paths, options.excludes))
    results = _check_all(files, _Task(tuple(rule.name for rule in rules), tuple(roots(paths)), options), options.jobs)
    return _gather(sum(file.problem is None for file in files), results, options)


def check_source(source: str | bytes, path: Path = Path("<source>"), rules: Iterable[str] = ()) -> FileResult:
    """The findings of a file that is given as text; imports are looked up beside *path*."""
    from lintinit.source import SourceFile

    data = source.encode() if isinstance(source, str) else source
    return deep(lambda: Engine(registry.select(rules)).check(SourceFile(path, data), strict=True))


@dataclass(frozen=True, slots=True)
class _Task:
    """What a worker needs to know, once."""

    rules: tuple[str, ...]
    roots: tuple[Path, ...]
    options: Options
    strict: bool = False

    def engine(self) -> Engine:
        return Engine(registry.select(self.rules), self.roots, self.options.prescan, self.options.defaults)


def roots(paths: Iterable[Path]) -> Iterator[Path]:
    """The folders that imports are looked up in."""
    return (path if path.is_dir() else path.parent for path in paths)


def _check_all(files: list[Found], task: _Task, jobs: int | None) -> Iterator[FileResult]:
    size = sum(_size(file.path) for file in files)
    task = _Task(task.rules, task.roots, task.options, size <= _STRICT)
    workers = min(jobs or _processors(), len(files))
    if workers > 1 and (jobs or size > _WORTH_WORKERS):
        return _in_workers(files, task, workers)
    return iter(deep(lambda: _check_here(files, task)))


def _check_here(files: Iterable[Found], task: _Task) -> list[FileResult]:
    engine = task.engine()
    return [_check_one(engine, file, task) for file in files]


def _check_one(engine: Engine, file: Found, task: _Task) -> FileResult:
    if file.problem is not None:
        return _failed(file, file.problem)
    try:
        return engine.check_path(file.path, task.strict or file.named)
    except (RecursionError, MemoryError) as error:
        return _failed(file, f"too large to check: {type(error).__name__}")
    except Exception as error:
        return _failed(file, f"lintinit failed on this file, please report it: {type(error).__name__}: {error}")


def _failed(file: Found, message: str) -> FileResult:
    return FileResult((), (Diagnostic(file.path, 1, message),))


def _in_workers(files: list[Found], task: _Task, workers: int) -> Iterator[FileResult]:
    """Check in processes. Where one dies, its files are checked again one by one, to know which of them does it."""
    batches = [files[at : at + _BATCH] for at in range(0, len(files), _BATCH)]
    lost: list[Found] = []
    with ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(task,)) as pool:
        waiting = [(batch, _submit(pool, batch)) for batch in batches]
        try:
            for batch, future in waiting:
                results = _outcome(future)
                if results is None:
                    lost += batch
                else:
                    yield from results
        except BaseException:
            # Nobody waits for the rest any more.
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise
    while lost:
        with ProcessPoolExecutor(1, initializer=_start_worker, initargs=(task,)) as pool:
            alive = True
            while lost and alive:
                file = lost.pop(0)
                results = _outcome(_submit(pool, [file]))
                alive = results is not None
                yield from results or [_failed(file, "the process that checked this file died")]


def _submit(pool: ProcessPoolExecutor, batch: list[Found]) -> Future[list[FileResult]] | None:
    try:
        return pool.submit(_work, batch)
    except BrokenProcessPool:
        return None


def _outcome(future: Future[list[FileResult]] | None) -> list[FileResult] | None:
    try:
        return future.result() if future is not None else None
    except BrokenProcessPool:
        return None


_worker: tuple[Engine, _Task]


def _start_worker(task: _Task) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    _worker = (task.engine(), task)


def _work(batch: list[Found]) -> list[FileResult]:
    engine, task = _worker
    return deep(lambda: [_check_one(engine, file, task) for file in batch])


def deep(function: Callable[[], Result]) -> Result:
    """Call *function* where deep recursion has room: in a thread with a large stack."""
    outcome: list[Result] = []
    problem: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            problem.append(error)

    limit, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(_DEPTH)
    try:
        thread = threading.Thread(target=target, daemon=True)  # an interrupt need not wait for it
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(stack)
    if problem:
        raise problem[0]
    return outcome[0]


def _gather(files: int, results: Iterable[FileResult], options: Options) -> Report:
    findings: dict[tuple[object, ...], Finding] = {}
    errors: list[Diagnostic] = []
    parsed = 0
    for result in results:
        errors += result.errors
        parsed += result.parsed
        for finding in result.findings:
            if not at_least(finding.severity, options.min_severity):
                continue
            key = (os.path.realpath(finding.path), finding.position, finding.rule, finding.attribute)
            # The same statement is seen again from a subclass in another file; its own file knows it best.
            known = findings.get(key)
            if known is None or _knows_more(finding, known):
                findings[key] = finding
    ordered = sorted(findings.values(), key=lambda finding: finding.order)
    return Report(tuple(ordered), tuple(sorted(errors, key=lambda e: (str(e.path), e.line))), files, parsed)


def _knows_more(finding: Finding, known: Finding) -> bool:
    if finding.severity != known.severity:
        return finding.severity == "error"
    return isinstance(finding.remedy, Fix) and not isinstance(known.remedy, Fix)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
