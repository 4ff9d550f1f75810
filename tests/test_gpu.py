"""The entry script for a machine with a GPU: here, that it says why it is skipped, and what it would print."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT

WITHOUT = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The script, where only torch and click are to be had."""
    script = ROOT / "tests" / "gpu" / "run.py"
    code = (
        "import runpy, sys\n"
        "for name in ('libcst', 'numpy', 'pathspec'): sys.modules[name] = None\n"
        f"sys.argv[1:] = {list(arguments)!r}\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@WITHOUT
def test_skipped_with_the_reason(tmp_path: Path) -> None:
    result = run("--json", str(tmp_path / "gpu.json"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("skipped: --device cuda: ")
    assert "CUDA" in json.loads((tmp_path / "gpu.json").read_text())["skipped"]


def test_what_it_prints(tmp_path: Path) -> None:
    result = run(
        "--device", "cpu", "--case", "topk 0", "--case", "float32 softmax", "--json", str(tmp_path / "gpu.json")
    )
    assert result.returncode == 0, result.stdout + result.stderr
    made = json.loads((tmp_path / "gpu.json").read_text())
    assert made["ok"] is True
    assert [*made["cases"]] == ["topk 0", "float32 softmax"]
    *_, head, zero, softmax, seconds = result.stdout.splitlines()
    assert head.split()[:7] == ["case", "pass", "fail", "skip", "tokens", "us", "bytes"]
    assert zero.split()[:6] == ["topk", "0", "8", "0", "2", "128"]
    assert softmax.split()[:6] == ["float32", "softmax", "9", "0", "1", "128"]
    assert seconds.endswith(" seconds")


def test_what_there_was_no_time_for_is_a_failure() -> None:
    result = run("--device", "cpu", "--case", "topk 0", "--budget", "5")
    assert result.returncode == 1
    assert "not run: no time left of 5 seconds" in result.stdout


def test_process_that_does_not_start_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """And not a reason to skip: there is a device."""
    script = runpy.run_path(str(ROOT / "tests" / "gpu" / "run.py"))

    def fail(**_: object) -> None:
        raise script["VerifyError"]("did not start")

    script["main"].__globals__["verify_routing"] = fail
    assert script["main"](["--device", "cpu", "--case", "topk 0"]) == 1
    assert "not run: did not start" in capsys.readouterr().out


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here: tests/gpu/run.py needs one")
def test_on_the_gpu() -> None:
    result = run()
    assert result.returncode == 0, result.stdout
