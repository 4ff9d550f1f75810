"""Small situations that once ended a file with a failed rule: what they mean is known now."""

from __future__ import annotations

import pytest
from marks import disagreements, marks

from lintinit.run import check_source

HEAD = "import contextlib\nimport torch\nfrom torch import nn\n"


@pytest.mark.parametrize(
    "code",
    [
        # A counter that grows by a number in another notation.
        """
class Steps(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("at", torch.empty(n, dtype=torch.int64))
        i = 0
        while i < n:
            self.at[i] = i
            i += 0x1
""",
        # A generator among several context managers, the last of them out of sight.
        """
@contextlib.contextmanager
def scope():
    yield


class Scoped(nn.Module):
    def __init__(self, n):
        super().__init__()
        with scope(), keep(self, "table", torch.empty(n, dtype=torch.int64)) as kept:
            self.register_buffer("order", torch.empty(n, dtype=torch.int64))  # expect: int-table-init error order
""",
        # Nothing is known of what other people's code returns but that it may look at no value.
        """
from elsewhere import permutation


class Permuted(nn.Module):
    def __init__(self, n):
        super().__init__()
        weight = torch.empty(n, n, dtype=torch.uint8)
        self.register_buffer("order", torch.argsort(permutation({}, weight).to(torch.int32)))

    def forward(self, x):
        return x[self.order]
""",
        # An object whose class says what happens on leaving the block.
        """
class Filling:
    def __init__(self, module):
        self.module = module

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.module.filled.zero_()


class Guarded(nn.Module):
    def __init__(self, n):
        super().__init__()
        with Filling(self):
            self.register_buffer("filled", torch.empty(n, dtype=torch.int64))
            self.register_buffer("left", torch.empty(n, dtype=torch.int64))  # expect: int-table-init error left

    def forward(self, x):
        return x[self.filled], x[self.left]
""",
    ],
    ids=["counter", "managers", "elsewhere", "exit"],
)
def test_situation(code: str) -> None:
    text = HEAD + code
    result = check_source(text)
    assert result.errors == ()
    assert disagreements(marks(text), list(result.findings)) == []
