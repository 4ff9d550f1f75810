"""What names say about bounds: which number counts the things whose ids a table holds."""

from __future__ import annotations

import re

_COUNT = re.compile(
    r"^(?:n|num|nb|total|number_of)_(?P<a>\w+)$|^(?P<b>\w+)_(?:count|num)$|^n(?P<c>[a-z]+s)$|^(?P<d>[a-z_]+s)$",
    re.IGNORECASE,
)
#: Words that make a count one of something else: ``num_experts_per_tok``, ``n_shared_experts``.
_OTHER = frozenset(
    "per tok token tokens topk top shared active activated selected group groups chosen used extra fused redundant"
    " node nodes rank ranks replicas".split()
)
#: Words that count everything there is.
_ALL = frozenset({"routed", "total", "global", "logical"})
#: Words of a table's name that say nothing about what its values are ids of.
_GENERIC = frozenset(
    "id ids idx idxs index indices indexes table tables map maps mapping lookup hash route routes router routing"
    " default topk token tokens tid vocab buffer by of to for in a the my row rows static cached layer".split()
)
_ROUTES = re.compile(r"rout|moe|expert|gate|topk|top_k|hash|dispatch", re.IGNORECASE)
_PERMUTES = re.compile(
    r"(?:^|_)(?:perms?|permut\w*|order(?:ing)?|reorder\w*|sort_?(?:ind\w*|idxs?|order|ids?)|sorted_?(?:ind\w*|idxs?|ids?)"
    r"|argsort|shuffle\w*|inverse(?:_\w+)?|inv_(?:perm\w*|idx|ind\w*|order)|positions?|position_ids?|pos_ids?)(?:$|_)",
    re.IGNORECASE,
)
_GROUPS = re.compile(
    r"(?:^|_)(?:g_?idx|group_?(?:idx|ind\w*|ids?|map)|groups?_(?:of|for)\w*|\w+_to_group|group)(?:$|_)", re.IGNORECASE
)
_GROUP_SIZE = re.compile(r"^(?:\w+_)?group_?size$|^group_?len(?:gth)?$", re.IGNORECASE)
_GROUP_SIZE_SHORT = re.compile(r"^(?:q_?)?group$", re.IGNORECASE)


def is_permutation(name: str) -> bool:
    """Whether a table of this name holds each of its own positions once."""
    return _PERMUTES.search(name) is not None


def is_group_index(name: str) -> bool:
    """Whether a table of this name holds the number of the group that each position belongs to."""
    return _GROUPS.search(name) is not None and not is_permutation(name)


def group_size(name: str) -> int | None:
    """How well *name* fits a group size, less is better; None for one that does not."""
    if _GROUP_SIZE.search(name):
        return 0
    return 1 if _GROUP_SIZE_SHORT.search(name) else None


def targets(table: str, context: str) -> set[str]:
    """What the values of *table* may be ids of, as singular nouns; ``expert`` where *context* speaks of routing."""
    words = [word for word in re.split(r"_|(?<=[a-z])2(?=[a-z])", table.lower()) if word]
    for mark in ("of", "for"):
        if mark in words[1:]:
            words = words[: words.index(mark)]
    if "to" in words[:-1]:
        words = words[words.index("to") + 1 :]
    elif re.search(r"[a-z]2[a-z]", table.lower()):
        words = [re.split(r"(?<=[a-z])2(?=[a-z])", table.lower())[-1]]
    found = {_singular(word) for word in words} - _GENERIC
    if _ROUTES.search(context) or _ROUTES.search(table):
        found.add("expert")
    return found


def counts(name: str, nouns: set[str], plain: bool = True) -> int | None:
    """How well *name* fits a count of one of *nouns*, less is better; None for one that counts something else.

    *plain* says that a plural alone (``experts``) may be one, too.
    """
    match = _COUNT.match(name)
    if match is None or (match["d"] is not None and not plain):
        return None
    words = [word for word in next(group for group in match.groups() if group).lower().split("_") if word]
    if not words or set(words) & _OTHER or not _names(_singular(words[-1]), nouns):
        return None
    if set(words) & {"local", "physical"}:
        return 4
    extra = set(words[:-1]) - _ALL
    if extra and match["d"] is not None:
        return None
    return (2 if extra else 0) + (1 if match["d"] is not None else 0)


def _names(noun: str, nouns: set[str]) -> bool:
    """Whether one of *nouns* is *noun*, or an abbreviation of its ids: ``eid`` for experts."""
    return any(noun == known or (len(known) == 3 and known.endswith("id") and noun[0] == known[0]) for known in nouns)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
