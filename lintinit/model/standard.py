"""What the standard library's functions mean where they carry state or dtypes along."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit.model.containers import new_map
from lintinit.model.guards import TRUE
from lintinit.model.heap import Obj, Seq, Tensor
from lintinit.model.iteration import any_of, rounds
from lintinit.model.machine import Arguments
from lintinit.model.methods import tensor_method
from lintinit.model.values import NONE, External, Partial, Symbol, Value, fresh

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handler = Callable[["Machine", Arguments, Any], Value]

_MAX_PRODUCT = 64


def _partial(m: Machine, arguments: Arguments, node: Any) -> Value:
    if not arguments.positional:
        return Symbol(fresh())
    function, *bound = arguments.positional
    return Partial(function, tuple(bound), tuple(arguments.keyword.items()))


def _deepcopy(m: Machine, arguments: Arguments, node: Any) -> Value:
    """A copy of state of its own; what is done to a copied module does nothing to the original."""
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Tensor):
        return tensor_method(m, value, "clone", Arguments(), node)
    return Symbol(fresh("copy")) if isinstance(value, Obj) else value


def _namespace(m: Machine, arguments: Arguments, node: Any) -> Value:
    made = Obj(External("types.SimpleNamespace"), fresh("object"), dict(arguments.keyword))
    m.objects.append(made)
    return made


def _dict(m: Machine, arguments: Arguments, node: Any) -> Value:
    return new_map(m, arguments)


def _field(m: Machine, arguments: Arguments, node: Any) -> Value:
    """``dataclasses.field``: what an instance gets that is not given another value."""
    factory = arguments.keyword.get("default_factory")
    if factory is not None:
        return m.call(m.known(factory), Arguments(), node)
    return arguments.keyword.get("default", Symbol(fresh("field")))


def _chain(m: Machine, arguments: Arguments, node: Any) -> Value:
    found = [rounds(m, value) for value in arguments.positional]
    rest = next((seq.rest for seq in found if not seq.exact), None)
    items = [item for seq in found for item in seq.items]
    return Seq(items) if rest is None else Seq(items, False, rest)


def _chain_from(m: Machine, arguments: Arguments, node: Any) -> Value:
    outer = rounds(m, arguments.positional[0]) if arguments.positional else Seq([], False)
    return _chain(m, Arguments([item for _, item in outer.items]), node) if outer.exact else Seq([], False)


def _product(m: Machine, arguments: Arguments, node: Any) -> Value:
    """Every combination; of ranges whose length is not known one round stands for all."""
    columns = [rounds(m, value) for value in arguments.positional]
    if all(column.exact for column in columns) and math.prod(len(column.items) for column in columns) <= _MAX_PRODUCT:
        rows = itertools.product(*(column.items for column in columns))
        return Seq([(m.guards.all(*(g for g, _ in row)), Seq([(TRUE, v) for _, v in row])) for row in rows])
    row = [(TRUE, column.rest if not column.items else any_of(m, column)) for column in columns]
    return Seq([], False, Seq(list(row)))


#: By dotted name.
FUNCTIONS: dict[str, Handler] = {
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "collections.OrderedDict": _dict,
    "copy.deepcopy": _deepcopy,
    "types.SimpleNamespace": _namespace,
    "dataclasses.field": _field,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from,
    "itertools.product": _product,
}
