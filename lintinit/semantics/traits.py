"""What the text of code must show before it can do something: the words without which it cannot.

A trait is a necessary condition. It may hold where nothing happens (a comment, another use of the word); where it
does not hold, nothing does happen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_INTS = ("int", "long", "short", "byte", "char", "bool")
_INT = rf"(?:{'|'.join(_INTS)})"
#: ``torch.empty`` and its relatives, the legacy constructors, growth by ``resize_``.
_ALLOCATION = [
    (word, re.compile(pattern))
    for word, pattern in (
        (".resize_", r"\.resize_(?:as_)?\("),
        (".new(", r"\.new\((?<!Image\.new\()"),
        ("empty", r"empty(?:_like|_strided\b|_permuted|_quantized)?\b"),
        ("Tensor", r"Tensor\b"),
    )
]
_INHERITING = ("new_", "Int", "Long", "Short", "Char", "Byte", "Bool")
_ALWAYS = ("empty_like", ".resize_(", ".resize_as_(", ".new(")
_CALL = re.compile(r"\s*\(")
_RENAMED = re.compile(r"(?:=|partial\(|return)\s*(?:\w+\.)*\w*\Z")
#: What stands before a function that is passed on, and not before the same word in prose.
_PASSED_ON = re.compile(r"(?:[.\"'=(,\[:]\s*|return\s+|import\s[^\n]*)\Z")
_ENDS = re.compile(r"\s*(?:[)\],}\"'#:;\\]|\n|\Z|if\b|else\b|as\b)")
_FLOATING = re.compile(r"\bdtype\s*=\s*(?:\w+\.)?(?:b?float\d*\w*|half|double|c?double|complex\d+)\s*[,)]")
_OPEN_ENDED = re.compile(r"\bdtype\b|\*")
_CONVERTED = re.compile(r"\s*\.\s*(?:to|type|view|int|long|short|byte|char|bool|new_empty)\b")
_CONVERSION = re.compile(rf"\.{_INT}\(\)|\.(?:to|view|type)\([^()]*(?:int|dtype|long|bool)|\.type\(")
_BRACKETS = re.compile(r"[()]")
# Patterns that begin with a word are searched for at many times the speed of alternatives, so each has its own.
_REGISTRATION = [
    re.compile(pattern)
    for pattern in (
        r"register_(?:buffer|parameter)",
        r"setattr(?:__)?\s*\(",
        r"_(?:parameters|buffers)\b(?<!\w_parameters)(?<!\w_buffers)",
        r"new_state",
        r"add_state",
        r"\.data\s*=(?!=)",
    )
]
_STATE_CLASS = [re.compile(word + r"(?:\s*(?P<call>\()|(?P<quote>[\"'])|\b)") for word in ("Param(?:eter)?", "Buffer")]
#: What stands before a class that is passed on.
_CLASS_PASSED_ON = re.compile(r"(?:[.=(,\[:{]\s*\w*|import\s[^\n]*|return\s+[\w.]*)\Z")
_MAKES_INTEGERS = (
    "arange", "topk", "randint", "nonzero", "argsort", "argmax", "argmin", "arg_max", "arg_min", "bincount",
    "searchsorted", "bucketize", "randperm", "_indices", "empty_like", "new_empty",
)  # fmt: skip
_INTEGER = [
    re.compile(pattern)
    for pattern in (
        r"int\d(?<![^\Wqu]int\d)",
        *(rf"\.{name}\b" for name in _INTS),
        r"tensor\((?<!\wtensor\()",
        r"dtype\s*=\s*(?:int|bool)\b",
        *(rf"{name}[\"'](?<=[\"']{name}[\"'])" for name in ("int", "long", "short", "bool")),
        r"Tensor(?:(?<=IntTensor)|(?<=LongTensor)|(?<=ShortTensor)|(?<=CharTensor)|(?<=ByteTensor)|(?<=BoolTensor))",
        rf"import[^\n]*\b{_INT}\b",
        r"int\{(?<!\wint\{)",
        r"int_\b(?<!\wint_)",
        r"intp\b",
    )
]


def allocates(text: str) -> bool:
    """Whether *text* may make memory without values whose dtype is one that a dummy-weight loader skips."""
    converted: bool | None = None
    for match in (match for word, pattern in _ALLOCATION if word in text for match in pattern.finditer(text)):
        before = text[max(match.start() - 80, 0) : match.start()]
        if match[0] in _ALWAYS:
            return True
        call = _CALL.match(text, match.end())
        if call is None:
            passed = _RENAMED if match[0] == "Tensor" else _PASSED_ON
            if passed.search(before) and _ENDS.match(text, match.end()):
                return True
            continue
        if before.endswith(_INHERITING):
            return True
        end = _closing(text, call.end())
        arguments = text[call.end() : end]
        if (not _FLOATING.search(arguments) and _OPEN_ENDED.search(arguments)) or _CONVERTED.match(text, end):
            return True
        if converted is None:
            converted = _CONVERSION.search(text) is not None
        if converted:
            return True
    return False


def _closing(text: str, at: int) -> int:
    """The offset behind the bracket that closes the one before *at*."""
    depth = 1
    for match in _BRACKETS.finditer(text, at):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.end()
    return len(text)


def registers(text: str) -> bool:
    """Whether *text* may make a parameter or buffer, or set an attribute by name."""
    return any(pattern.search(text) for pattern in _REGISTRATION) or any(
        match["call"] or match["quote"] or _CLASS_PASSED_ON.search(text[max(match.start() - 80, 0) : match.start()])
        for pattern in _STATE_CLASS
        for match in pattern.finditer(text)
    )


def holds_integers(text: str) -> bool:
    """Whether *text* may name a dtype that is not floating, or make a tensor of one."""
    return any(word in text for word in _MAKES_INTEGERS) or any(pattern.search(text) for pattern in _INTEGER)


@dataclass(frozen=True, slots=True, eq=False)
class Trait:
    """Something that code must show before it can do harm."""

    name: str
    shows: Callable[[str], bool]


MEMORY = Trait("memory", allocates)
REGISTRATION = Trait("registration", registers)
INTEGERS = Trait("integers", holds_integers)
