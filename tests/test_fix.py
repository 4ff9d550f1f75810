"""``lintinit fix`` on every flagged fixture: repaired or refused, and nothing that was there is lost."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from marks import marks, read
from poison import loaded, unwritten
from torch import nn

from lintinit.fixing import Repaired, fix_input
from lintinit.run import Options, check_source
from lintinit.runtime.poison import Poison

FILES = [path for path in sorted(ROOT.glob("fixtures/*/*.py")) if marks(read(path)) or path.parent.name == "readme"]
PAGE = [
    block
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "rules/int_table_init.md").read_text("utf-8"), re.DOTALL)
    if re.search(r"# (?:error|warning): ", block)
]
#: What takes the place of an allocating name.
SWAPPED = {"empty": {"zeros", "arange"}, "empty_like": {"zeros_like"}, "new_empty": {"new_zeros"}}


def lf(text: str) -> bytes:
    return text.encode()


def crlf_with_bom(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()


def tabs_and_no_last_newline(text: str) -> bytes:
    lines = [re.sub(r"^(?: {4})+", lambda m: "\t" * (len(m[0]) // 4), line) for line in text.split("\n")]
    return "\n".join(lines).rstrip("\n").encode()


def fixed(data: bytes, path: Path, unsafe: bool = True) -> Repaired:
    report = fix_input(data, path, Options(), unsafe)
    assert not report.errors
    return report.files[0]


def tokens(data: bytes) -> list[str]:
    ignored = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}
    return [token.string for token in tokenize.tokenize(io.BytesIO(data).readline) if token.type not in ignored]


def lost(before: bytes, after: bytes) -> list[str]:
    """The tokens and comments of *before* that do not follow one another in *after*; swapped allocations count."""
    left = iter(tokens(after))
    return [old for old in tokens(before) if not any(new == old or new in SWAPPED.get(old, ()) for new in left)]


def assert_repaired(data: bytes, path: Path) -> None:
    reported = [finding for finding in check_source(data, path).findings if not finding.suppressed]
    file = fixed(data, path)
    compile(file.after, str(path), "exec", dont_inherit=True)
    assert file.applied or file.refused or not reported
    remaining = [finding.attribute for finding in check_source(file.after, path).findings if not finding.suppressed]
    assert sorted(remaining) == sorted(finding.attribute for finding, _ in file.refused)
    assert all(reason for _, reason in file.refused)
    assert fixed(file.after, path).after == file.after
    assert lost(data, file.after) == []
    assert file.after.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")
    if b"\r\n" in data:
        assert file.after.count(b"\n") == file.after.count(b"\r\n")


@pytest.mark.parametrize("form", [lf, crlf_with_bom, tabs_and_no_last_newline], ids=lambda form: str(form.__name__))
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_fixture(path: Path, form: Callable[[str], bytes]) -> None:
    plain = re.search(r"[\r\t\f]|coding[:=]", read(path)) is None
    assert_repaired(form(read(path)) if plain else path.read_bytes(), path)


@pytest.mark.parametrize("block", PAGE)
def test_page(block: str) -> None:
    assert_repaired(block.encode(), ROOT / "rules" / "page.py")


def test_almost_everything_is_repaired() -> None:
    files = [fixed(path.read_bytes(), path) for path in FILES]
    applied = sum(len(file.applied) for file in files)
    assert applied > 150
    assert sum(len(file.refused) for file in files) * 20 < applied


def test_what_is_unsafe_is_held_back() -> None:
    held = [fixed(path.read_bytes(), path, unsafe=False) for path in FILES]
    for finding in [finding for file in held for finding in file.applied]:
        assert finding.role not in ("packed weight", "zero point", "scale bits")
    assert sum(len(file.held_back) for file in held) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_filled_when_it_runs(path: Path, tmp_path: Path) -> None:
    """Built on memory of two patterns, a repaired file leaves nothing unwritten that was reported."""
    if path.parent.name == "readme":
        pytest.skip("builds nothing")
    file = fixed(path.read_bytes(), path)
    copy = tmp_path / path.name
    copy.write_bytes(file.after)
    names = {name for finding in file.applied for name in finding.attribute.split(", ")}
    refused = {name for finding, _ in file.refused for name in finding.attribute.split(", ")}
    left = {state.rpartition(".")[2] for state in unwritten(copy)}
    assert not (left & names) - refused


def default_methods(module: nn.Module) -> list[tuple[nn.Module, str, Callable[[], None]]]:
    """The added methods that need nothing passed on, of *module* and those below it, with the state they fill."""
    found = []
    for child in module.modules():
        for name in dir(type(child)):
            method = getattr(child, name) if name.startswith("_init_default_") else None
            if method is not None and not inspect.signature(method).parameters:
                state = re.sub(r"_\d$", "", name.removeprefix("_init_default_"))
                if isinstance(getattr(child, state, None), torch.Tensor):
                    found.append((child, state, method))
    return found


def modules_of(made: object) -> list[nn.Module]:
    return [item for item in (made if isinstance(made, tuple | list) else [made]) if isinstance(item, nn.Module)]


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Copies of the fixtures whose repair adds a method."""
    folder = tmp_path_factory.mktemp("repaired")
    copies = []
    for path in FILES:
        after = fixed(path.read_bytes(), path).after
        if b"def _init_default_" in after and path.parent.name != "readme":
            copies.append(folder / path.name)
            copies[-1].write_bytes(after)
    return copies


def test_checkpoint_overwrites_every_default_and_the_method_restores_it(repaired: list[Path]) -> None:
    files = set()
    for path in repaired:
        for module in modules_of(loaded(path)):
            for child, state, method in default_methods(module):
                method()
                default = getattr(child, state).clone()
                hooked = child._load_state_dict_post_hooks or "load_state_dict" in vars(type(child))
                if hooked or 0 in getattr(child, state).stride():
                    continue  # its own loading writes; an expanded row, which torch itself cannot load into
                real = torch.ones_like(default)
                if state in child.state_dict():
                    child.load_state_dict({state: real}, strict=False)
                    assert torch.equal(getattr(child, state), real), path.name
                else:
                    getattr(child, state).data.fill_(1)
                method()
                assert torch.equal(getattr(child, state), default), path.name
                assert default.dtype == torch.bool or default.numel() == 0 or default.min() >= 0
                files.add(path)
    assert len(files) >= 40


def test_methods_fill_what_to_empty_left(repaired: list[Path]) -> None:
    """Built on the meta device, moved onto memory of two patterns, filled by calling the methods again."""
    files = set()
    for path in repaired:
        found: list[dict[str, torch.Tensor]] = []
        for pattern in ("A", "B"):
            try:
                with torch.device("meta"):
                    modules = modules_of(loaded(path))
            except (NotImplementedError, RuntimeError, TypeError, ValueError):
                break  # its own constructor needs values
            values = {}
            for at, module in enumerate(modules):
                with Poison(pattern):
                    module.to_empty(device="cpu")
                for child, state, method in default_methods(module):
                    method()
                    values[f"{at}.{type(child).__name__}.{state}"] = getattr(child, state).clone()
            found.append(values)
        if len(found) == 2 and found[0]:
            assert found[0].keys() == found[1].keys()
            assert all(torch.equal(found[0][name], found[1][name]) for name in found[0]), path.name
            files.add(path)
    assert len(files) >= 40
