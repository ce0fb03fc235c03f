"""Runs that the tests read, made once with the command of the package."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import assay
import pytest


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run directories by name: healthy twice, a store that answers stale, and transactions."""
    root = tmp_path_factory.mktemp("runs")
    simulated = {"progress": "none", "runs_dir": root}
    made = {
        "first": assay.bench(
            "ycsb-a", "sim:goodbadugly", rate="2k/s", duration="30s", seed=1,
            run_dir=root / "first", **simulated,
        ),
        "second": assay.bench(
            "ycsb-a", "sim:goodbadugly", rate="2k/s", duration="30s", seed=2,
            run_dir=root / "second", **simulated,
        ),
        "stale": assay.bench(
            "register", "sim:?stale_cache=1%", rate="2k/s", duration="20s", seed=3,
            run_dir=root / "stale", **simulated,
        ),
        "losing": assay.bench(
            "register", "sim:?lost=1%", rate="2k/s", duration="20s", seed=5,
            run_dir=root / "losing", **simulated,
        ),
        "forks": assay.bench(
            "long-fork", "sim:?stale_cache=20%", rate="1k/s", duration="10s", seed=6,
            run_dir=root / "forks", **simulated,
        ),
        "chains": assay.bench(
            "causal-chain", "sim:?stale_cache=20%", rate="1k/s", duration="10s", seed=6,
            run_dir=root / "chains", **simulated,
        ),
        "transactions": assay.bench(
            "list-append", "sqlite:" + str(root / "lists.db"), closed=4, operations=8000, seed=7,
            run_dir=root / "transactions", **simulated,
        ),
        "closed": assay.bench(
            "ycsb-f", "memory:", closed=2, operations=4000, records=500, seed=4,
            run_dir=root / "closed", **simulated,
        ),
    }
    return {name: run.path for name, run in made.items()}


@pytest.fixture(scope="session")
def command() -> Callable[..., Any]:
    """The JSON that the command line prints for these words."""

    def ask(*words: object) -> Any:
        line = [str(assay.binary()), *map(str, words), "--format", "json"]
        ended = subprocess.run(line, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return ask
