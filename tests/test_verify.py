"""Verification says that right layers are right, and which step of a wrong one is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import broken_layers
import pytest
import torch
from click.testing import CliRunner
from conftest import ROOT
from projects import python

from lintinit.cli import main
from lintinit.runtime import HashTopK, child, routing_steps, verify_routing, verify_target
from lintinit.runtime.outcome import RoutingSpec
from lintinit.runtime.routing import Routing
from lintinit.runtime.supervise import VerifyError

FILE = str(Path(broken_layers.__file__))
CPU_SKIPS = {"CUDA graph"}
NEEDS_ENTRIES = {"negative control"}


def statuses(spec: RoutingSpec, *leave_out: str) -> dict[str, tuple[str, str]]:
    """Status and detail of each step, taken in this process."""
    routing = Routing(spec)
    names = [name for name in routing_steps.STEPS if name not in ("bench", *leave_out)]
    taken = {name: child.take(routing_steps.STEPS[name], routing) for name in names}
    return {name: (status, outcome.detail) for name, (status, outcome, _) in taken.items()}


@pytest.mark.parametrize("shared", [0, 1])
@pytest.mark.parametrize("scoring", ["softmax", "sigmoid", "sqrtsoftplus"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_layer_is_right_in_all_its_kinds(dtype: str, scoring: str, shared: int) -> None:
    for topk, experts in [(0, 1), (0, 64), (1, 1), (1, 7), (1, 512), (8, 8), (8, 64), (8, 512)]:
        spec = RoutingSpec(
            dtype=dtype, scoring=scoring, shared=shared, topk=topk, experts=experts, vocab=600, tokens=40, hidden=8
        )
        found = statuses(spec, "torch.compile")
        skipped = CPU_SKIPS | (NEEDS_ENTRIES if topk == 0 else set())
        assert {name for name, (status, _) in found.items() if status == "skip"} == skipped
        assert not {name: detail for name, (status, detail) in found.items() if status == "fail"}
        if topk:
            assert found["negative control"][1].startswith("caught: unwritten; ")


@pytest.mark.parametrize(
    ("layer", "step", "says"),
    [
        ("DuplicateIds", "table valid", "rows name an expert twice: row 0 is [0, 0, 0, 0]"),
        ("IdOfNoExpert", "table valid", "entries are no expert of 64: row 61 holds 64"),
        ("OverflowingDefault", "table valid", "entries are no expert of 64: row 126 holds -63"),
        ("Unbalanced", "table valid", "the most used expert occurs 600 times more often"),
        ("DefaultIntoACopy", "built under poison", "`tid2eid` of DefaultIntoACopy (int32[600, 4]): 2400 of 2400"),
        ("NeverCalled", "built under poison", "`tid2eid` of NeverCalled (int32[600, 4]): 2400 of 2400"),
        ("NotRenormalised", "eager = reference", "weights are off by "),
        ("DefaultInForward", "checkpoint overwrites", "ids of token 0 are "),
        ("IgnoresPadding", "eager = reference", "not [-1, -1, -1, -1]"),
        ("DefaultOnce", "meta device", "the table is not what construction makes"),
    ],
)
def test_broken_layer_fails_the_step_that_should(layer: str, step: str, says: str) -> None:
    spec = RoutingSpec(layer=f"{FILE}:{layer}", dtype="float64", topk=4, vocab=600, tokens=40)
    found = statuses(spec, "torch.compile")
    failed = {name: detail for name, (status, detail) in found.items() if status == "fail"}
    assert says in failed[step]
    assert next(iter(failed)) == step  # what comes after it may fail of the same cause


def test_not_renormalised_is_wrong_in_float64_only() -> None:
    spec = RoutingSpec(layer=f"{FILE}:NotRenormalised", topk=4, vocab=600, tokens=40)
    assert statuses(spec, "torch.compile")["eager = reference"][0] == "pass"


def test_negative_control_that_is_not_caught_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control is a check: with an audit that sees nothing, or a table that happens to be valid, it fails."""
    step = routing_steps.STEPS["negative control"]
    monkeypatch.setattr(HashTopK, "to_empty", lambda self, **_: self)
    status, outcome, _ = child.take(step, Routing(RoutingSpec()))
    assert (status, outcome.detail) == ("fail", "the audit did not notice that the table was left unwritten")


def test_compiled() -> None:
    status, outcome, _ = child.take(routing_steps.STEPS["torch.compile"], Routing(RoutingSpec(dtype="bfloat16")))
    assert status == "pass"
    assert outcome.figures["backend"] in ("inductor", "aot_eager")


def test_bench_counts_the_bytes() -> None:
    spec = RoutingSpec(tokens=10, experts=16, topk=4, dtype="bfloat16", shared=1)
    status, outcome, _ = child.take(routing_steps.STEPS["bench"], Routing(spec))
    assert status == "pass"
    assert outcome.figures["bytes"] == 10 * (16 * 2 + 8 + 4 * 4 + 5 * 4 + 5 * 4)
    assert outcome.figures["seconds"] > 0


# ---- in a child process


def test_whole_run() -> None:
    report = verify_routing(device="cpu", bench=True, skip=("torch.compile",))
    assert report.ok
    assert (report.device, report.torch) == ("cpu", torch.__version__)
    assert [step.name for step in report.steps] == [name for name in routing_steps.STEPS if name != "torch.compile"]
    assert {step.name for step in report.steps if step.status == "skip"} == CPU_SKIPS
    assert "9 passed, 0 failed, 1 skipped" in str(report)
    made = json.loads(json.dumps(report.as_dict()))
    assert made["version"] == 1
    assert made["ok"] is True
    assert made["subject"]["experts"] == 64
    assert all({"name", "status", "detail", "figures"} == step.keys() for step in made["steps"])


def test_death_is_the_verdict_of_its_step_and_the_rest_is_taken() -> None:
    report = verify_routing(broken_layers.KillsItself, device="cpu", skip=("torch.compile",))
    found = {step.name: step for step in report.steps}
    assert found["table valid"].status == "pass"
    for name in ("checkpoint overwrites", "eager = reference", "experts gathered"):
        assert found[name].status == "fail"
        assert "ended by SIGKILL" in found[name].detail
    assert found["meta device"].status == "pass"
    assert found["negative control"].status == "pass"  # it must be caught, and a death is
    assert "caught: the process was ended by SIGKILL" in found["negative control"].detail


def test_hang_ends_at_the_time_limit() -> None:
    report = verify_routing(
        f"{FILE}:Hangs",
        device="cpu",
        skip=tuple({*routing_steps.STEPS} - {"checkpoint overwrites", "table valid"}),
        time_limit=8,
    )
    assert [(step.name, step.status) for step in report.steps] == [
        ("table valid", "pass"),
        ("checkpoint overwrites", "fail"),
    ]
    assert report.steps[1].detail == "no end after 8 seconds; the process was killed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topk": 9, "experts": 8}, "a token goes to 9 of 8 experts"),
        ({"vocab": 0}, "at least one token"),
        ({"layer": f"{FILE}:NotLikeIt"}, "is no routing layer: it takes other arguments than HashTopK"),
        ({"layer": f"{FILE}:Nothing"}, "has no 'Nothing'"),
        ({"layer": "nowhere.at_all:Layer"}, "no module 'nowhere'"),
    ],
)
def test_what_cannot_be_verified(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        verify_routing(device="cpu", **arguments)


def test_class_of_a_function_cannot_cross() -> None:
    class Local(HashTopK):
        pass

    with pytest.raises(VerifyError, match="is defined in a function"):
        verify_routing(Local)


def test_module_that_reads_unwritten_state_fails_and_the_state_is_named() -> None:
    report = verify_target(f"{FILE}:Lookup", f"{FILE}:inputs", device="cpu")
    built, forward, graph = report.steps
    assert built.figures["unwritten"] == ["rows", "scratch"]
    assert forward.status == "fail"
    assert forward.detail.startswith("IndexError: ")
    assert forward.detail.endswith("\ncaused by `rows`, which nothing wrote")
    assert forward.figures["caused_by"] == ["rows"]
    assert graph.status == "skip"


def test_repaired_module_passes() -> None:
    report = verify_target(f"{FILE}:Repaired", f"{FILE}:inputs_by_name", device="cpu", dummy_load="vllm")
    assert report.ok
    assert report.steps[1].detail == "executed, returned float32[2, 4]"


def test_failure_that_is_not_the_states_is_not_blamed_on_it() -> None:
    report = verify_target(f"{FILE}:Lookup", f"{FILE}:inputs_that_do_not_fit", device="cpu")
    assert report.steps[1].detail.endswith("not caused by unwritten state: it fails with that zeroed, too")
    assert "caused_by" not in report.steps[1].figures


def test_crash_of_a_factory() -> None:
    report = verify_target(f"{FILE}:crashes", f"{FILE}:inputs", device="cpu")
    assert not report.ok
    assert "ended by SIGSEGV" in report.steps[0].detail


def test_exit_of_a_factory() -> None:
    report = verify_target(f"{FILE}:exits", f"{FILE}:inputs", device="cpu")
    assert "exit status 3" in report.steps[0].detail


# ---- commands


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("audit", f"{FILE}:Lookup"), 1, "buffer `rows` of Lookup (int64[10]): 10 of 10 elements never written"),
        (("audit", f"{FILE}:Lookup", "--dummy-load", "zero"), 0, "0 of 4 parameters and buffers"),
        (("audit", f"{FILE}:Repaired", "--meta"), 1, "after to_empty(): Linear.reset_parameters"),
        (("audit", f"{FILE}:raises"), 2, "the factory failed: ValueError: no such size\n  at "),
        (("audit", f"{FILE}:NUMBER"), 2, "NUMBER is a int, which cannot be called"),
        (("audit", f"{FILE}"), 2, "write package.module:callable or file.py:callable"),
        (("audit", "nowhere.py:x"), 2, "no file nowhere.py"),
        (("audit", "torch.nn:ReLU"), 0, "0 of 0 parameters and buffers"),
        (("verify", "--topk", "9", "--experts", "8"), 2, "a token goes to 9 of 8 experts"),
        (("verify", "--inputs", "a:b"), 2, "--inputs needs a TARGET"),
        (("verify", "a:b", "--inputs", "c:d", "--topk", "2"), 2, "--topk is for routing"),
        (("verify", "--dummy-load", "vllm"), 2, "--dummy-load is for a TARGET with --inputs"),
    ],
)
def test_commands(arguments: tuple[str, ...], status: int, says: str) -> None:
    result = run(*arguments)
    assert says in result.output
    assert result.exit_code == status
    assert "Traceback" not in result.output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_where_there_is_none() -> None:
    result = run("verify", "--device", "cuda")
    assert result.exit_code == 2
    assert "lintinit: --device cuda: " in result.stderr
    assert "use --device auto or cpu" in result.stderr


def test_json_is_whole_whatever_the_module_prints() -> None:
    audited = run("audit", f"{FILE}:Lookup", "--json")
    assert [state["name"] for state in json.loads(audited.stdout)["unwritten"]] == ["rows", "scratch"]
    verified = run("verify", f"{FILE}:Repaired", "--inputs", f"{FILE}:inputs", "--device", "cpu", "--json")
    assert verified.exit_code == 0
    assert json.loads(verified.stdout)["steps"][1]["status"] == "pass"


def test_choices_are_those_of_the_companion() -> None:
    from lintinit import runtime_cli
    from lintinit.runtime import dummy_load, hash_topk, reference

    assert runtime_cli.POLICIES == dummy_load.POLICIES
    assert set(runtime_cli.SCORINGS) == set(hash_topk.SCORING)
    assert {getattr(torch, name) for name in runtime_cli.DTYPES} == set(reference.TOLERANCE)


def test_help_imports_neither_torch_nor_libcst() -> None:
    code = (
        "import sys\nfrom lintinit.cli import main\n"
        "for command in ('audit', 'verify'):\n"
        "    try: main([command, '--help'])\n"
        "    except SystemExit: pass\n"
        "print([name for name in ('torch', 'libcst', 'pathspec') if name in sys.modules])"
    )
    assert python("-c", code, cwd=ROOT).stdout.endswith("[]\n")


HIDDEN = "import sys\nfor name in {names}: sys.modules[name] = None\nfrom lintinit.cli import main\nmain({arguments})"


def test_runs_with_torch_and_click_alone() -> None:
    """As on a machine with a GPU, from a checkout: nothing of the linter's needs is installed."""
    names = ["libcst", "pathspec", "numpy"]
    result = python("-c", HIDDEN.format(names=names, arguments=["audit", f"{FILE}:Lookup"]), cwd=ROOT)
    assert result.returncode == 1, result.stderr
    assert "2 of 4" in result.stdout


def test_without_torch() -> None:
    result = python("-c", HIDDEN.format(names=["torch"], arguments=["audit", "a:b"]), cwd=ROOT)
    assert result.returncode == 2
    assert result.stderr == "lintinit: this needs torch; install it with: pip install 'lintinit[runtime]'\n"
