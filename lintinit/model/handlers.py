"""Tables that say what to do for each kind of libcst node, and how a function gets into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handled = TypeVar("Handled", bound=Callable[["Machine", Any], Any])


def handles(table: dict[str, Handled], *kinds: str) -> Callable[[Handled], Handled]:
    """A decorator that enters a function into *table* for nodes of these classes of libcst."""

    def enter(handler: Handled) -> Handled:
        table.update(dict.fromkeys(kinds, handler))
        return handler

    return enter
