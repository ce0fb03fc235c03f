"""Runs made from Python."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import _thread
import assay
import pytest
from assay import _command


def test_a_run_is_made_and_opened(tmp_path: Path) -> None:
    run = assay.bench(
        "ycsb-b", target="memory:", rate="2k/s", duration="1s", records=100,
        set=["dataset.fields=2"], runs_dir=tmp_path,
    )
    assert run.path.parent == tmp_path
    assert run.figures["load"]["rate_per_s"] == 2000.0
    assert run.figures["overall"]["counts"]["done"] > 1000


def test_a_wrong_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(assay.InvalidCommand, match="--rat") as caught:
        assay.bench("ycsb-b", target="memory:", rat="2k/s", runs_dir=tmp_path)
    assert caught.value.code == 2
    with pytest.raises(TypeError, match="give a text"):
        assay.bench("ycsb-b", target="memory:", rate=object(), runs_dir=tmp_path)
    with pytest.raises(ValueError, match="notebook"):
        assay.bench("ycsb-b", target="memory:", progress="loud")


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(assay.Unreachable, match="is the server running"):
        assay.bench("ycsb-b", target="redis://127.0.0.1:1", duration="1s", runs_dir=tmp_path)


def test_a_hallmark_that_is_required(tmp_path: Path) -> None:
    with pytest.raises(assay.NoHallmark) as caught:
        assay.bench(
            "ycsb-b", target="memory:", rate="1k/s", duration="1s", records=100,
            require_hallmark=True, runs_dir=tmp_path,
        )
    assert assay.open(caught.value.path).figures["run"]["state"] == "finished"


def test_an_interrupt_leaves_what_there_is(tmp_path: Path) -> None:
    # A shell starts what it puts into the background with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    stop = threading.Timer(2, _thread.interrupt_main)
    stop.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            assay.bench(
                "ycsb-b", target="memory:", rate="1k/s", duration="60s", records=100,
                run_dir=tmp_path / "run",
            )
    finally:
        stop.join()
        signal.signal(signal.SIGINT, before)
    assert assay.open(tmp_path / "run").figures["run"]["state"] == "interrupted"


def test_progress_is_shown_line_by_line() -> None:
    shown: list[tuple[str, bool]] = []
    program = (
        "import sys, time; e = sys.stderr; print('begun', file=e); e.write('\\r10 %'); e.flush();"
        "time.sleep(0.2); e.write('\\r\\x1b[32m20 %\\x1b[0m'); e.flush(); time.sleep(0.2);"
        "print('\\rdone', file=e); sys.exit(3)"
    )
    words = [sys.executable, "-c", program]
    code, stderr = _command._execute(words, lambda text, stays: shown.append((text, stays)))
    assert code == 3
    assert stderr == "begun\ndone"
    assert [text for text, stays in shown if stays] == ["begun", "done"]
    assert ("10 %", False) in shown and ("20 %", False) in shown


def test_the_command_is_on_the_path() -> None:
    ended = subprocess.run([assay.binary(), "--version"], capture_output=True, text=True)
    assert ended.stdout.split()[:2] == ["assay", assay.__version__]


def test_a_missing_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_BINARY", "/nowhere/assay")
    with pytest.raises(assay.AssayError, match="cannot start /nowhere/assay"):
        assay.bench("ycsb-b", target="memory:")


def test_repetitions_are_a_group(tmp_path: Path) -> None:
    simulated = {"rate": "1k/s", "duration": "2s", "records": 100, "progress": "none"}
    group = assay.repeat(2, "ycsb-b", "sim:", run_dir=tmp_path / "group", **simulated)
    assert [run.path.name for run in group] == ["1", "2"]
    assert repr(group).startswith("<Group of 2 runs")
    with pytest.raises(assay.NotARun, match="a group of repeated runs"):
        assay.open(tmp_path / "group")
    with pytest.raises(assay.Incomparable, match="share"):
        assay.compare(group, group.runs[0])
    with pytest.raises(ValueError, match="assay.repeat"):
        assay.bench("ycsb-b", "sim:", repeat=2)


def test_results_have_escaped_tables(runs: dict[str, Path]) -> None:
    run = assay.open(runs["stale"])
    page = run._repr_html_()
    assert page.count("<tr>") >= 4 and "p99" in page
    run.figures["run"]["title"] = "<script>alert(1)</script>"
    page = run._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "linearizable" in run.check()._repr_html_()
    compared = assay.compare(runs["first"], runs["second"])
    assert "throughput" in compared._repr_html_()
    assert "throughput" in repr(compared)
