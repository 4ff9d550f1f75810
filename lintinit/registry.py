"""The rules that are installed: entry points of the group ``lintinit.rules``, lintinit's own among them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points
from importlib.resources import files

from lintinit.errors import LintinitError
from lintinit.rule import Rule

GROUP = "lintinit.rules"


def rules() -> list[Rule]:
    """Every installed rule, by name; raises :class:`LintinitError` for one that cannot be loaded."""
    found: dict[str, Rule] = {}
    for point in entry_points(group=GROUP):
        try:
            rule = point.load()
        except Exception as error:
            raise LintinitError(f"rule {point.name} ({point.value}) cannot be loaded: {error}") from error
        if not isinstance(rule, Rule):
            raise LintinitError(f"rule {point.name} ({point.value}) is not a lintinit.rule.Rule")
        found[rule.name] = rule
    if not found:
        raise LintinitError("no rules are installed; install lintinit with pip, so that its entry points are known")
    return [found[name] for name in sorted(found)]


def select(names: Iterable[str]) -> list[Rule]:
    """The rules named by name or code, all if none is named; raises :class:`LintinitError` for an unknown one."""
    known = rules()
    wanted = list(names)
    for name in wanted:
        if not any(name in (rule.name, rule.code) for rule in known):
            raise LintinitError(f"no rule {name!r}; there is: {', '.join(rule.name for rule in known)}")
    return [rule for rule in known if not wanted or rule.name in wanted or rule.code in wanted]


def page(rule: Rule) -> str:
    """The rule's page: the Markdown file beside its module."""
    package, _, module = rule.check.__module__.rpartition(".")
    try:
        return files(package).joinpath(f"{module}.md").read_text(encoding="utf-8")
    except (OSError, ModuleNotFoundError, ValueError):
        raise LintinitError(f"rule {rule.name} has no page") from None
