"""How to build the modules of a package that nobody has written a factory for: small sizes, guessed by name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

#: More elements than this take too long, four builds counted.
_MOST_ELEMENTS = 200_000_000
#: By which the widths of a configuration are divided, the first that gives a module counts.
_DIVISORS = (8, 4, 2, 1)

#: What a required argument is given, by the first expression that its name matches.
_ARGUMENTS: list[tuple[str, Callable[[], Any]]] = [
    (r"device|bias", lambda: None),
    (r"dtype", lambda: torch.float32),
    (r"metadata", lambda: (["a", "b"], [("a", "to", "b"), ("b", "to", "a")])),
    (r"edge_index(_dict)?", lambda: torch.tensor([[0, 1, 2], [1, 2, 0]])),
    (r"edge_types", lambda: [("a", "to", "b")]),
    (r"node_types", lambda: ["a", "b"]),
    (r"(in|out|hidden)_channels_list|channel_list|(hidden|head)_dims|dims|channels_list", lambda: [16, 16, 16]),
    (
        r"(local_|global_|lin_|gate_)?nn\d?|mlp|lin|module|model|encoder|decoder|net|layer|gnn",
        lambda: nn.Linear(16, 16),
    ),
    (r"act(ivation)?(_layer|_func|_fn)?", lambda: "relu"),
    (r"norm(_layer)?", lambda: nn.LayerNorm),
    (r"aggrs?|reduce", lambda: "mean"),
    (r"(num_)?(layers|blocks|depth|heads|groups|towers|bases|stacks?|iter(ations)?|steps|timesteps)", lambda: 2),
    (r"(img|image|input|grid|feat|window|patch)_size|input_resolution|resolution|size", lambda: (16, 16)),
    (r"kernel_size|k|K|stride", lambda: 3),
    (r"scales?|degree|p|alpha|eps|ratio|rate|dropout|cutoff|start|beta", lambda: 0.5),
    (r".*(ratio|prob|rate|eps|scale|factor)", lambda: 0.5),
    (r".*(channels|dim|size|features|planes|chs|width|units|length|num_.*|embed.*|n_.*)", lambda: 16),
    (r"num_.*|n_.*|in_.*|out_.*|hidden.*|dim.*|max_.*|walk.*", lambda: 16),
]


def subjects(package: str, each: int) -> dict[str, Callable[[], Callable[[], nn.Module]]]:
    """What can be tried of *package*, by name: each returns a factory, or raises where it finds none."""
    found: dict[str, Callable[[], Callable[[], nn.Module]]] = {}
    if package == "timm":
        found.update(_timm_models(each))
    for cls in _module_classes(package):
        name = f"{cls.__module__}.{cls.__qualname__}"
        found[name] = lambda cls=cls: _factory(cls)
    return found


def _module_classes(package: str) -> Iterator[type[nn.Module]]:
    """The classes of modules that *package* defines at the top of its files, those that can be imported here."""
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}.", onerror=lambda _: None):
        if re.search(r"\.(tests?|testing|benchmark|cli|__main__)\b|datasets?\.", info.name):
            continue
        try:
            module = importlib.import_module(info.name)
        except BaseException:  # another package is missing, most often
            continue
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, nn.Module) and cls.__module__ == info.name:
                yield cls


def _timm_models(each: int) -> dict[str, Callable[[], Callable[[], nn.Module]]]:
    """The smallest models of each file of timm, *each* of them, told by their names."""
    import timm

    small = re.compile(r"tiny|nano|pico|atto|femto|xxs|small|mini|_s\b|18|test")
    found = {}
    for file in timm.list_modules():
        names = sorted(timm.list_models(module=file), key=lambda name: (not small.search(name), len(name)))
        for name in names[:each]:
            found[f"timm.create_model({name!r})"] = lambda name=name: _sized(lambda: timm.create_model(name))
    return found


def _factory(cls: type[nn.Module]) -> Callable[[], nn.Module]:
    configuration = getattr(cls, "config_class", None)
    if configuration is not None:
        return _configured(cls, configuration)
    arguments: dict[str, Callable[[], Any]] = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        optional = parameter.default is not parameter.empty
        if not optional and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            arguments[name] = _configuration(cls) if name == "config" else _guessed(name)
    return _sized(lambda: cls(**{name: make() for name, make in arguments.items()}))


def _guessed(name: str) -> Callable[[], Any]:
    """Makes what a required argument of this name is given."""
    for expression, make in _ARGUMENTS:
        if re.fullmatch(expression, name):
            return make
    raise LookupError(f"nothing is known of the argument `{name}`")


def _configuration(cls: type[nn.Module]) -> Callable[[], Any]:
    """Makes a configuration of the class that the file of *cls* speaks of."""
    file = vars(importlib.import_module(cls.__module__))
    for name, value in file.items():
        if name.endswith("Config") and isinstance(value, type) and hasattr(value, "to_dict"):
            return lambda: shrunk(value(), _DIVISORS[0])
    raise LookupError("no class of configurations")


def _configured(cls: type[nn.Module], configuration: type) -> Callable[[], nn.Module]:
    error: Exception | None = None
    for divisor in _DIVISORS:

        def build(divisor: int = divisor) -> nn.Module:
            return cls(shrunk(configuration(), divisor))

        try:
            return _sized(build)
        except Exception as caught:
            error = error or caught
    assert error is not None
    raise error


def _sized(build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """*build*, if what it makes is small enough. What cannot be made on the meta device is made to see.

    Raises:
        MemoryError: if it is not.
    """
    try:
        with torch.device("meta"):
            made = build()
    except Exception:
        made = build()
    if sum(parameter.numel() for parameter in made.parameters()) > _MOST_ELEMENTS:
        raise MemoryError("too large for a quick look")
    return build


def shrunk(config: Any, divisor: int) -> Any:
    """A configuration of transformers with few layers, a small vocabulary, and widths divided by *divisor*."""
    for name, value in list(vars(config).items()):
        small = _small(name, value, divisor)
        if small is not value:
            setattr(config, name, small)
    return config


def _small(name: str, value: Any, divisor: int) -> Any:
    if hasattr(value, "to_dict"):
        return shrunk(value, divisor)
    if isinstance(value, list | tuple) and value and all(type(entry) is int for entry in value):
        return type(value)(_small(name, entry, divisor) for entry in value)
    if type(value) is not int:
        return value
    if name.endswith("token_id"):
        return min(value, 3)
    if re.search(r"vocab_size", name):
        return min(value, 128)
    if re.search(r"num_hidden_layers|n_layers?$|num_layers|(en|de)coder_layers|^depths?$", name):
        return min(value, 2)
    if re.search(r"max_position|n_positions", name):
        return min(value, 512)
    if re.search(r"experts$|num_.*experts", name) and not re.search("tok|shared|top", name):
        return min(value, 8)
    if re.search(r"per_tok|top_?k$", name):
        return min(value, 2)
    if re.search(r"hidden|_dim|d_model|dim$|d_ff|ffn|embed|intermediate|width|n_embd|channels|lora_rank", name):
        return value // divisor if value >= 64 and value % divisor == 0 else value
    return value
