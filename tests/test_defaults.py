"""Which default a table gets, what its method does, and where it is called; every case is executed."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from projects import PAYLOAD, Project
from torch import nn

from lintinit.fixing import Repaired, fix_input
from lintinit.run import Options
from lintinit.runtime.poison import Poison

HEAD = "import torch\nfrom torch import nn\n\n\n"


def fixed(code: str, unsafe: bool = True, head: str = HEAD) -> Repaired:
    report = fix_input((head + textwrap.dedent(code)).encode(), Path("module.py"), Options(), unsafe)
    assert not report.errors
    return report.files[0]


def names(file: Repaired) -> dict[str, Any]:
    """The namespace of the repaired module."""
    namespace: dict[str, Any] = {"__name__": "module"}
    exec(compile(file.after, "module.py", "exec"), namespace)
    return namespace


def built(file: Repaired, name: str, *arguments: Any, **keywords: Any) -> Any:
    """An instance of a class of the repaired module, built on memory of one pattern."""
    with Poison("A"):
        return names(file)[name](*arguments, **keywords)


def added(file: Repaired) -> str:
    """The lines that are new, without their indentation."""
    old = file.before.decode().splitlines()
    new = file.after.decode().splitlines()
    return "\n".join(line.strip() for line in new if line not in old or not line.strip() or "_init_default" in line)


def titles(file: Repaired) -> list[str]:
    return [finding.remedy.title for finding in file.applied]  # type: ignore[union-attr]


ROUTER = """\
class HashRouter(nn.Module):
    def __init__(self, vocab, topk, num_experts):
        super().__init__()
        self.num_experts = num_experts
        self.tid2eid = nn.Parameter(torch.empty(vocab, topk, dtype=DTYPE), requires_grad=False)

    def forward(self, scores, ids):
        return scores.gather(1, self.tid2eid[ids].long())
"""


@pytest.mark.parametrize(
    ("vocab", "topk", "experts"), [(10, 2, 4), (7, 4, 4), (1, 1, 1), (300, 8, 64), (5, 0, 4), (0, 2, 4)]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_routing_table(dtype: str, vocab: int, topk: int, experts: int) -> None:
    router = built(fixed(ROUTER.replace("DTYPE", f"torch.{dtype}")), "HashRouter", vocab, topk, experts)
    table = router.tid2eid
    expected = [[(row + column) % experts for column in range(topk)] for row in range(vocab)]
    assert (table.dtype, tuple(table.shape), table.tolist()) == (getattr(torch, dtype), (vocab, topk), expected)
    assert all(len(set(row)) == topk for row in table.tolist())


def test_checkpoint_overwrites_the_default() -> None:
    router = built(fixed(ROUTER.replace("DTYPE", "torch.int32")), "HashRouter", 6, 2, 4)
    real = torch.randint(4, (6, 2), dtype=torch.int32)
    router.load_state_dict({"tid2eid": real})
    assert torch.equal(router.tid2eid, real)


def test_method_is_called_again_after_to_empty() -> None:
    file = fixed(ROUTER.replace("DTYPE", "torch.int32"))
    with torch.device("meta"):
        router = names(file)["HashRouter"](6, 2, 4)
    with Poison("A"):
        router.to_empty(device="cpu")
    router._init_default_tid2eid()
    assert router.tid2eid.tolist() == built(file, "HashRouter", 6, 2, 4).tid2eid.tolist()


def test_method_of_the_readable_kind() -> None:
    assert added(fixed(ROUTER.replace("DTYPE", "torch.int32"))).strip() == textwrap.dedent(
        '''\
        self._init_default_tid2eid()

        def _init_default_tid2eid(self) -> None:
        """Give each row of `tid2eid` distinct valid ids until a checkpoint overwrites it.

        Loaders of dummy weights fill floating-point state only.
        """
        table = self.tid2eid
        if table.numel() == 0:
        return
        with torch.no_grad():
        row = torch.arange(table.shape[0], dtype=table.dtype, device=table.device)
        col = torch.arange(table.shape[1], dtype=table.dtype, device=table.device)
        table.copy_((row.unsqueeze(1) + col) % self.num_experts)'''
    ).replace("\n\n\n", "\n\n")


def test_bound_that_is_an_argument_only_is_passed_on() -> None:
    file = fixed(ROUTER.replace("DTYPE", "torch.int32").replace("        self.num_experts = num_experts\n", ""))
    assert "self._init_default_tid2eid(num_experts)" in file.after.decode()
    assert built(file, "HashRouter", 5, 2, 3).tid2eid.tolist() == [[0, 1], [1, 2], [2, 0], [0, 1], [1, 2]]


def test_bound_that_is_assigned_later_is_not_read_too_early() -> None:
    lines = ROUTER.replace("DTYPE", "torch.int32").splitlines(keepends=True)
    moved = "".join([*lines[:3], lines[4], lines[3], *lines[5:]])
    assert built(fixed(moved), "HashRouter", 4, 1, 3).tid2eid.tolist() == [[0], [1], [2], [0]]


def test_bound_in_a_configuration() -> None:
    file = fixed(
        """\
        class Gate(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.topk = config.num_experts_per_tok
                self.table = nn.Parameter(
                    torch.empty(config.vocab_size, self.topk, dtype=torch.int32), requires_grad=False
                )
                self.proj = nn.Linear(4, config.n_routed_experts)

            def forward(self, scores, ids):
                return scores.gather(1, self.table[ids].long())
        """
    )
    config = type("Config", (), {"num_experts_per_tok": 2, "vocab_size": 4, "n_routed_experts": 3})
    assert built(file, "Gate", config).table.tolist() == [[0, 1], [1, 2], [2, 0], [0, 1]]


@pytest.mark.parametrize("size", ["128", "-1"])
def test_group_index(size: str) -> None:
    file = fixed(
        f"""\
        class Scheme:
            def __init__(self, group_size={size}):
                self.group_size = group_size  # -1: one group

            def create_weights(self, layer, rows):
                g_idx = nn.Parameter(torch.empty(rows, dtype=torch.int32), requires_grad=False)
                layer.register_parameter("g_idx", g_idx)

            def apply(self, layer, scales):
                return scales[layer.g_idx]
        """
    )
    layer = nn.Module()
    with Poison("A"):
        names(file)["Scheme"]().create_weights(layer, 300)
    assert layer.g_idx.tolist() == [row // 128 if size == "128" else 0 for row in range(300)]


@pytest.mark.parametrize(("name", "rank"), [("perm", 1), ("sort_indices", 2), ("token_ordering", 1)])
def test_permutation(name: str, rank: int) -> None:
    sizes = "3, 5" if rank == 2 else "5"
    file = fixed(
        f"""\
        class Shuffle(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("{name}", torch.empty({sizes}, dtype=torch.int64))

            def forward(self, x):
                return x[self.{name}]
        """
    )
    found = getattr(built(file, "Shuffle"), name).tolist()
    assert found == ([[0, 1, 2, 3, 4]] * 3 if rank == 2 else [0, 1, 2, 3, 4])


SIMPLE = """\
class Book(nn.Module):
    def __init__(self, size, limit=7):
        super().__init__()
        self.register_buffer("page", torch.empty(size, dtype=torch.int32)){comment}

    def forward(self, x):
        return x[self.page]
"""


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("zeros", [0, 0, 0, 0]),
        ("arange", [0, 1, 2, 3]),
        ("cyclic:limit - 4", [0, 1, 2, 0]),
        ("cyclic:self.page.numel() // 2", [0, 1, 0, 1]),
        ("group:2", [0, 0, 1, 1]),
        ("full:-1", [-1, -1, -1, -1]),
    ],
)
def test_what_people_ask_for(project: Project, spec: str, expected: list[int]) -> None:
    by_comment = fixed(SIMPLE.format(comment=f"  # lintinit: default={spec}"))
    assert built(by_comment, "Book", 4).page.tolist() == expected
    plain = HEAD + SIMPLE.format(comment="")
    project.write("by_option.py", plain)
    assert project.run("fix", "--default", f"page={spec}", "by_option.py").exit_code == 0
    project.write("pyproject.toml", f'[tool.lintinit.defaults]\npage = "{spec}"\n')
    project.write("by_project.py", plain)
    assert project.run("fix", "by_project.py").exit_code == 0
    for name in ("by_option.py", "by_project.py"):
        data = (project.folder / name).read_bytes()
        assert built(Repaired(Path(name), b"", data), "Book", 4).page.tolist() == expected
        assert data == by_comment.after.replace(f"  # lintinit: default={spec}".encode(), b"")


def test_a_comment_that_makes_no_sense_is_a_refusal() -> None:
    file = fixed(SIMPLE.format(comment="  # lintinit: default=random"))
    assert [reason for _, reason in file.refused] == [
        "default 'random': no kind 'random'; there is: zeros, arange, cyclic, group, full"
    ]
    assert not file.changed


def test_a_method_that_fills_is_called() -> None:
    file = fixed(
        """\
        class Tree(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("parent", torch.empty(n, dtype=torch.int64))
                self.scale = 3

            def reset_tree(self):
                self.parent.copy_(torch.arange(self.parent.numel()) // self.scale)

            def forward(self, x):
                return x[self.parent]
        """
    )
    assert titles(file) == ["call `reset_tree`, which fills `parent`"]
    assert built(file, "Tree", 5).parent.tolist() == [0, 0, 0, 1, 1]


def test_default_survives_reset_parameters() -> None:
    file = fixed(
        """\
        class Layer(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(n))
                self.register_buffer("slot", torch.empty(n, dtype=torch.int64))
                self.reset_parameters()

            def reset_parameters(self):
                nn.init.ones_(self.weight)

            def forward(self, x):
                return x[self.slot]
        """
    )
    with torch.device("meta"):
        layer = names(file)["Layer"](3)
    with Poison("A"):
        layer.to_empty(device="cpu")
    layer.reset_parameters()
    assert (layer.slot.tolist(), layer.weight.tolist()) == ([0, 0, 0], [1, 1, 1])


def test_values_that_are_given_are_kept() -> None:
    file = fixed(
        """\
        class Labels(nn.Module):
            def __init__(self, n, parents=None):
                super().__init__()
                if parents is None:
                    parents = torch.empty(n, dtype=torch.int64)
                self.register_buffer("parents", parents)
                rows = torch.empty(n, dtype=torch.int64)
                rows[0] = 3
                self.register_buffer("rows", rows)

            def forward(self, x):
                return x[self.parents] + x[self.rows]
        """
    )
    assert built(file, "Labels", 3, torch.tensor([2, 1, 0])).parents.tolist() == [2, 1, 0]
    assert built(file, "Labels", 3).parents.tolist() == [0, 0, 0]
    assert built(file, "Labels", 3).rows.tolist() == [3, 0, 0]


def test_names_that_are_taken() -> None:
    file = fixed(
        """\
        class Base(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("slot", torch.empty(n, dtype=torch.int64))

            def forward(self, x):
                return x[self.slot]


        class Child(Base):
            def __init__(self, n):
                super().__init__(n)
                self.scale = 2
                self._init_default_slot()

            def _init_default_slot(self):
                self.slot.fill_(self.scale)
        """
    )
    assert built(file, "Base", 2).slot.tolist() == [0, 0]
    assert built(file, "Child", 2).slot.tolist() == [2, 2]


def test_bases_and_subclasses_that_both_register_the_name() -> None:
    file = fixed(
        """\
        class Base(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("slot", torch.empty(n, dtype=torch.int64))

            def forward(self, x):
                return x[self.slot]


        class Child(Base):
            def __init__(self, n, num_slots):
                super().__init__(n)
                self.num_slots = num_slots
                self.register_buffer("slot", torch.empty(n, 2, dtype=torch.int64))
        """
    )
    assert built(file, "Base", 2).slot.tolist() == [0, 0]
    assert built(file, "Child", 2, 3).slot.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("head", "code", "inserted"),
    [
        (
            "import torch as th\nfrom torch import nn\n",
            "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.register_buffer('t', th.empty(3, dtype=th.int32))\n",
            "with th.no_grad():",
        ),
        (
            "from torch import empty, int32, nn\n",
            "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.register_buffer('t', empty(3, dtype=int32))\n",
            "import torch\nfrom torch import empty, int32, nn",
        ),
        (
            "'''Page.'''\nfrom __future__ import annotations\nfrom torch import empty, int32, nn\n",
            "def add(layer):\n    layer.register_buffer('t', empty(3, dtype=int32))\n"
            "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        add(self)\n",
            "layer.register_buffer('t', torch.zeros(3, dtype=int32))",
        ),
        (
            HEAD,
            "class A(nn.Module):\n    def __init__(this): super().__init__(); this.register_buffer('t',"
            " torch.empty(3, dtype=torch.int32))  # why\n",
            "; this._init_default_t()  # why\n",
        ),
        (
            HEAD,
            "class A(nn.Module):\n    def __init__(self, n=3):\n        super().__init__()\n        if n: self.t ="
            " nn.Buffer(torch.empty(n, dtype=torch.int32))\n        # the end\n\n    class Inner:\n        x = 1\n"
            "    # behind\n",
            "if n: self.t = nn.Buffer(torch.empty(n, dtype=torch.int32)); self._init_default_t()\n        # the end\n",
        ),
        (
            HEAD,
            "def make():\n    class A(nn.Module):\n        def __init__(self):\n            super().__init__()\n"
            "            self.register_buffer('t', torch.empty(3, dtype=torch.int32))\n    return A()\nA = make\n",
            "        def _init_default_t(self) -> None:\n            \"\"\"",
        ),
        (
            HEAD,
            "class A(nn.Module):\n\tdef __init__(self):\n\t\tsuper().__init__()\n"
            "\t\tself.register_buffer('t', torch.empty(3, dtype=torch.int32))",
            "\n\tdef _init_default_t(self) -> None:\n\t\t\"\"\"",
        ),
        (
            HEAD,
            "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        for name in 'tu':\n            self.register_buffer(name, torch.empty(3, dtype=torch.int32))\n",
            "torch.zeros(3, dtype=torch.int32)",
        ),
        (
            HEAD,
            "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.t = self.u = nn.Buffer(torch.empty_strided((3,), (1,), dtype=torch.int32))\n",
            "self._init_default_t()",
        ),
        (
            HEAD,
            "class A(nn.Module):\n    def __init__(self, flag=False):\n        super().__init__()\n"
            "        self.t = nn.Buffer(torch.empty(3, dtype=torch.int32)) if flag else None\n",
            "if self.t is None or self.t.numel() == 0:",
        ),
    ],
    ids=[
        "alias of torch", "import needed", "free function", "one line", "one-line suite", "class in a function", "tabs",
        "loop", "chained", "may be None",
    ],
)  # fmt: skip
def test_kinds_of_code(head: str, code: str, inserted: str) -> None:
    file = fixed(code, head=head)
    assert inserted in file.after.decode()
    module = built(file, "A")
    table = module.t
    assert table is None or table.tolist() == [0, 0, 0]
    assert fixed(file.after.decode(), head="").after == file.after


def test_pretrained_models_and_payloads_wait_for_somebody_to_look() -> None:
    pretrained = "from transformers import PreTrainedModel\n" + HEAD
    for code, head in ((SIMPLE.format(comment=""), pretrained), (PAYLOAD, "")):
        file = fixed(code, unsafe=False, head=head)
        assert (len(file.held_back), file.changed) == (1, False)
        assert fixed(code, head=head).changed


def test_allocation_in_another_file_is_refused(project: Project) -> None:
    project.write("made.py", "import torch\n\n\ndef table(n):\n    return torch.empty(n, dtype=torch.int32)\n")
    project.write(
        "model.py",
        "from torch import nn\nfrom made import table\n\n\n"
        "def attach(layer):\n    layer.register_buffer('page', table(3))\n",
    )
    result = project.run("fix", ".")
    assert "model.py:6: refused: `page`: it is allocated in another file (made.py:5)\n" in result.stdout
    assert result.stdout.endswith("0 fixed in 0 files, 0 held back, 1 refused\n")
    assert result.exit_code == 1


def test_report_and_exit_statuses(project: Project) -> None:
    path = project.write("a.py", HEAD + SIMPLE.format(comment=""))
    diff = project.run("fix", "--diff")
    assert (diff.exit_code, path.read_text()) == (1, HEAD + SIMPLE.format(comment=""))
    assert diff.stdout.startswith("--- a/a.py\n+++ b/a.py\n")
    assert diff.stderr.endswith("1 to fix in 1 file, 0 held back, 0 refused\n")
    piped = project.run("fix", "-", "--stdin-filename", "a.py", stdin=path.read_bytes())
    fixed_in_place = project.run("fix")
    assert fixed_in_place.stdout == (
        "a.py:8: fixed: fill `page` by default with zeros (no other value is known to be in range)\n"
        "1 fixed in 1 file, 0 held back, 0 refused\n"
    )
    assert (fixed_in_place.exit_code, piped.exit_code) == (0, 0)
    assert piped.stdout == path.read_text()
    again = project.run("fix", "--diff")
    assert (again.stdout, again.stderr, again.exit_code) == ("", "0 to fix in 0 files, 0 held back, 0 refused\n", 0)
    broken = project.run("fix", "-", stdin=b"def (:\n")
    assert (broken.stdout, broken.exit_code) == ("def (:\n", 2)


def test_diff_is_a_patch(project: Project, tmp_path: Path) -> None:
    import subprocess

    path = project.write("pkg/a.py", (HEAD + SIMPLE.format(comment="")).rstrip("\n").replace("\n", "\r\n"))
    patch = project.run("fix", "--diff").stdout_bytes
    expected = project.run("fix", "-", "--stdin-filename", "pkg/a.py", stdin=path.read_bytes()).stdout_bytes
    subprocess.run(["git", "apply", "-"], input=patch, cwd=project.folder, check=True, timeout=60)
    assert path.read_bytes() == expected


def test_suppressed_findings_stay_as_they_are(project: Project) -> None:
    path = project.write("a.py", HEAD + SIMPLE.format(comment="  # lintinit: ignore"))
    before = path.read_bytes()
    assert project.run("fix", "--unsafe-fixes").exit_code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("arguments", [["--default", "page"], ["--default", "=zeros"], ["-", "a.py"]])
def test_nonsense_is_one_line(project: Project, arguments: list[str]) -> None:
    result = project.run("fix", *arguments)
    assert (result.stdout, result.exit_code) == ("", 2)
    assert re.fullmatch(r"lintinit: [^\n]+\n", result.stderr)
