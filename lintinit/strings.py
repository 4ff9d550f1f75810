"""Where the triple-quoted strings of a text are: what looks like a statement inside one is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TRIPLE = re.compile(r'"""|\'\'\'')
_PLAIN_PREFIX = re.compile(r"[^#'\"]*\Z")
_LEXEME = re.compile(
    r"#[^\n]*"
    r"|(?P<long>\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\"|\Z)|'''(?:[^\\']|\\.|'(?!''))*(?:'''|\Z))"
    r"|\"(?:[^\\\"\n]|\\.)*\"?|'(?:[^\\'\n]|\\.)*'?",
    re.DOTALL,
)


def long_strings(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of triple-quoted strings.

    The quick way pairs the quotes in order; it holds unless one stands in a comment or in another string,
    and then the text is scanned properly.
    """
    found = []
    at = 0
    while match := _TRIPLE.search(text, at):
        line_start = text.rfind("\n", 0, match.start()) + 1
        if not _PLAIN_PREFIX.match(text[max(line_start, at) : match.start()]):
            return _scan(text)
        end = text.find(match[0], match.end())
        while end > 0 and _escaped(text, end):
            end = text.find(match[0], end + 1)
        at = len(text) if end < 0 else end + 3
        found.append((match.start(), at))
    return iter(found)


def _escaped(text: str, at: int) -> bool:
    slashes = 0
    while text[at - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _scan(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _LEXEME.finditer(text) if match.lastgroup == "long")
