"""What all commands share: exit statuses, errors as one line, and text that any terminal can take."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

import click

from lintinit.errors import LintinitError

#: Exit statuses, as every command uses them.
CLEAN, FINDINGS, TROUBLE = 0, 1, 2


class Command(click.Command):
    """A command whose errors are one line for people, and exit status 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LintinitError as error:
            click.echo(f"lintinit: {error}", err=True)
            ctx.exit(TROUBLE)
        except KeyboardInterrupt:
            click.echo("lintinit: interrupted", err=True)
            ctx.exit(TROUBLE)


def write(text: str) -> None:
    """To the standard output, whatever its encoding is."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    click.echo(text, nl=False)
