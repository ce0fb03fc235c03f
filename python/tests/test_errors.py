"""What is wrong is an exception of its own type, whose text says what to do."""

import shutil
import threading
import time
from pathlib import Path

import assay
import pyarrow
import pytest


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(assay.NotARun, match=r"no run\.toml"):
        assay.open(tmp_path)
    with pytest.raises(assay.NotARun):
        assay.open(tmp_path / "absent")
    with pytest.raises(assay.NotARun, match="holds 0 run"):
        assay.open("last", runs_dir=tmp_path)


def test_names_are_looked_up_as_on_the_command_line(runs: dict[str, Path]) -> None:
    folder = runs["first"].parent
    assert assay.open("first", runs_dir=folder).path == runs["first"]
    assert assay.open("last", runs_dir=folder).path == runs["closed"]


def copied(run: Path, into: Path) -> Path:
    return Path(shutil.copytree(run, into / "copy"))


def test_a_history_of_a_later_release(runs: dict[str, Path], tmp_path: Path) -> None:
    path = copied(runs["first"], tmp_path)
    manifest = path / "run.toml"
    text = manifest.read_text()
    line = next(line for line in text.splitlines() if line.startswith("format"))
    manifest.write_text(text.replace(line, "format = 99", 1))
    with pytest.raises(assay.NewerVersion, match="newer than"):
        assay.open(path)


def test_a_history_without_files(runs: dict[str, Path], tmp_path: Path) -> None:
    path = copied(runs["first"], tmp_path)
    shutil.rmtree(path / "history")
    with pytest.raises(assay.NotARun, match="neither a sealed history"):
        assay.open(path)


def test_a_history_that_is_cut_short(runs: dict[str, Path], tmp_path: Path) -> None:
    path = copied(runs["first"], tmp_path)
    part = next((path / "history").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(assay.Damaged, match="not a complete history file"):
        assay.open(path)


def test_a_manifest_that_is_none(runs: dict[str, Path], tmp_path: Path) -> None:
    path = copied(runs["first"], tmp_path)
    (path / "run.toml").write_text("format = [")
    with pytest.raises(assay.Damaged, match="is not a manifest"):
        assay.open(path)


def test_damage_within_a_file_ends_a_stream_with_an_error(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    path = copied(runs["first"], tmp_path)
    part = next((path / "history").rglob("*.parquet"))
    data = bytearray(part.read_bytes())
    data[2000:2100] = bytes(100)
    part.write_bytes(data)
    run = assay.open(path)
    with pytest.raises((pyarrow.ArrowException, OSError), match="damaged"):
        run.to_arrow()
    with pytest.raises(assay.Damaged, match="damaged"):
        _ = run.figures


def test_wrong_values(runs: dict[str, Path]) -> None:
    run = assay.open(runs["first"])
    with pytest.raises(KeyError, match="it has all, read, update"):
        run.percentile("reed", 99)
    with pytest.raises(ValueError, match="no percentile"):
        run.percentile("read", 101)
    with pytest.raises(ValueError, match="response"):
        run.percentile("read", 99, kind="respons")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hits"):
        run.percentile("read", 99, outcome="hit")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="measure"):
        assay.open(runs["first"], phases="warm")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        run.percentile("read", "99")  # type: ignore[arg-type]


def test_a_comparison_with_itself(runs: dict[str, Path]) -> None:
    with pytest.raises(assay.Incomparable, match="name two runs"):
        assay.compare(runs["first"], runs["first"])
    with pytest.raises(ValueError, match="there is no > or <"):
        assay.compare(runs["first"], runs["second"], fail_on="p99")


def test_pythons_lock_is_free_while_a_run_is_judged(runs: dict[str, Path]) -> None:
    run = assay.open(runs["stale"])
    times: list[float] = []
    is_over = threading.Event()

    def tick() -> None:
        while not is_over.is_set():
            times.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begun = time.perf_counter()
    run.check()
    took = time.perf_counter() - begun
    is_over.set()
    ticker.join()
    during = [later - earlier for earlier, later in zip(times, times[1:])]
    assert took > 0.05, "the run is too small to show anything"
    assert max(during) < took / 2
