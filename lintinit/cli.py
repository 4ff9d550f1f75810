"""The command line: arguments in, text and an exit status out."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from lintinit import __version__
from lintinit.console import CLEAN, FINDINGS, TROUBLE, Command, write
from lintinit.errors import LintinitError
from lintinit.runtime_cli import audit, verify

_FORMATS = ("full", "concise", "json")
_SEVERITIES = click.Choice(["error", "warning"])
_STATUS = """\b
Exit status:
  0  nothing at or above --fail-on
  1  findings
  2  something could not be checked: a bad path, a file with a syntax error, ...
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="lintinit", message="%(prog)s %(version)s")
def main() -> None:
    """Finds state of PyTorch modules that nothing ever fills.

    An integer parameter or buffer made by torch.empty keeps whatever bytes the allocator returned when no
    checkpoint overwrites it: dummy-weight loaders fill floating-point tensors only. The first kernel that uses it
    as an index then reads out of bounds.

    Start with: lintinit check src/
    """


@main.command(cls=Command, epilog=_STATUS)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(_FORMATS), help="How findings are written.  [default: full]")
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Only this rule; may be given several times.")
@click.option(
    "--min-severity", type=_SEVERITIES, default="warning", show_default=True, help="Leave milder findings out."
)
@click.option("--fail-on", type=_SEVERITIES, default="error", show_default=True, help="The mildest finding that fails.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave files out, as in .gitignore; several times.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes.  [default: one for each processor]")
@click.option("--no-prescan", is_flag=True, hidden=True)
def check(
    paths: tuple[Path, ...],
    output_format: str | None,
    rules: tuple[str, ...],
    min_severity: Any,
    fail_on: Any,
    exclude: tuple[str, ...],
    jobs: int | None,
    no_prescan: bool,
) -> None:
    """Check files and folders (default: the current folder).

    Nothing that is checked is imported or executed.
    """
    from lintinit import config, run
    from lintinit.discovery import Excludes

    here = Path.cwd()
    settings = config.load(here)
    options = run.Options(
        rules=rules,
        excludes=(*settings.exclude, Excludes(here, exclude)),
        min_severity=min_severity,
        jobs=jobs,
        prescan=not no_prescan,
        defaults=settings.defaults,
    )
    report = run.check(paths or (Path(),), options)
    reporter = import_module(f"lintinit.reporters.{output_format or 'full'}")
    write(reporter.render(report))
    if not report.files and not report.errors:
        click.echo("lintinit: no Python files there", err=True)
    if report.errors:
        sys.exit(TROUBLE)
    sys.exit(FINDINGS if report.fails(fail_on) else CLEAN)


@main.command(cls=Command, epilog=_STATUS, short_help="Repair what check finds.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Only this rule; may be given several times.")
@click.option("--unsafe-fixes", is_flag=True, help="Also fixes that somebody should look at, of payloads for one.")
@click.option("--diff", is_flag=True, help="Print a unified diff, write nothing; exit status 1 if there is one.")
@click.option(
    "--default",
    "defaults",
    multiple=True,
    metavar="NAME=KIND[:EXPR]",
    help="The value of an attribute: zeros, arange, cyclic:EXPR, group:EXPR or full:EXPR; several times.",
)
@click.option(
    "--min-severity", type=_SEVERITIES, default="warning", show_default=True, help="Leave milder findings alone."
)
@click.option("--fail-on", type=_SEVERITIES, default="error", show_default=True, help="The mildest finding that fails.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave files out, as in .gitignore; several times.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes.  [default: one for each processor]")
@click.option(
    "--stdin-filename", type=click.Path(path_type=Path), help="With - as path: what the standard input is a file of."
)
def fix(
    paths: tuple[Path, ...],
    rules: tuple[str, ...],
    unsafe_fixes: bool,
    diff: bool,
    defaults: tuple[str, ...],
    min_severity: Any,
    fail_on: Any,
    exclude: tuple[str, ...],
    jobs: int | None,
    stdin_filename: Path | None,
) -> None:
    """Repair what check finds in files and folders (default: the current folder).

    State gets a default value that a checkpoint overwrites. Code is only inserted, and a file is replaced whole or
    not at all. With - the standard input is repaired to the standard output.
    """
    from lintinit import config, fixing, run
    from lintinit.discovery import Excludes
    from lintinit.reporters import fixes

    here = Path.cwd()
    settings = config.load(here)
    options = run.Options(
        rules=rules,
        excludes=(*settings.exclude, Excludes(here, exclude)),
        min_severity=min_severity,
        jobs=jobs,
        defaults=(*settings.defaults, *map(_default, defaults)),
    )
    piped = Path("-") in paths
    if piped:
        if len(paths) > 1:
            raise LintinitError("- stands for the standard input and must be the only path")
        data = sys.stdin.buffer.read()
        report = fixing.fix_input(data, stdin_filename or Path("<stdin>"), options, unsafe_fixes)
    else:
        report = fixing.fix(paths or (Path(),), options, unsafe_fixes, write=not diff)
    if diff:
        write(fixes.diff(report))
    elif piped:
        sys.stdout.buffer.write(report.files[0].after)
    click.echo(fixes.render(report, "to fix" if diff else "fixed"), nl=False, err=diff or piped)
    if report.errors:
        sys.exit(TROUBLE)
    sys.exit(FINDINGS if report.fails(fail_on) or (diff and report.changed) else CLEAN)


def _default(text: str) -> tuple[str, Any]:
    from lintinit.fixes.defaults import parse

    name, equals, spec = text.partition("=")
    if not equals or not name.strip():
        raise LintinitError(f"--default {text!r}: write NAME=KIND or NAME=KIND:EXPRESSION")
    return name.strip(), parse(spec)


@main.command(cls=Command, short_help="Print the page of a rule.")
@click.argument("rule")
def explain(rule: str) -> None:
    """Print the page of a rule: what it reports, why that is bad, and how to repair it."""
    from lintinit import registry

    write(registry.page(registry.select([rule])[0]))


@main.command(cls=Command)
def rules() -> None:
    """List the rules."""
    from lintinit import registry

    for rule in registry.rules():
        click.echo(f"{rule.code}  {rule.name}  ({rule.severity})  {rule.summary}")


main.add_command(audit)
main.add_command(verify)
