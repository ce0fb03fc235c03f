"""Spark's verdicts and percentiles equal those of the command line on the same run.

PySpark is no package of `cargo xtask wheel`, being 700 MB: these tests run where it is installed, with
``pandas<3`` and Java 17.
"""

# pyright: reportMissingImports=false

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import assay
import pytest
from test_engines import NAMES, OF_TRANSACTIONS, same, same_isolation

pytest.importorskip("pyspark", reason="NOT RUN: no PySpark (pip install assay-bench[spark])")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    session = (
        builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_equal_the_command_line(
    spark: Any, runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    import assay.spark

    frame = assay.spark.read(spark, runs[name])
    ours = assay.spark.check(frame, assay.question(runs[name]), shares=3)
    same(ours, command("check", runs[name]))


@pytest.mark.parametrize("name", OF_TRANSACTIONS)
def test_isolation_equals_the_command_line(
    spark: Any, runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    import assay.spark

    frame = assay.spark.read(spark, runs[name])
    values = assay.spark.read_values(spark, runs[name])
    question = assay.isolation_question(runs[name])
    ours = assay.spark.isolation(frame, values, question, shares=3)
    same_isolation(ours, command("check", runs[name]))


@pytest.mark.parametrize("name", NAMES)
def test_latencies_equal_the_report(
    spark: Any, runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    import assay.spark

    frame = assay.spark.read(spark, runs[name])
    found = assay.spark.latencies(frame)
    report = command("report", runs[name])
    for operation, group in {"all": report["overall"], **report["kinds"]}.items():
        for kind in ("response", "service", "lag"):
            for which, value in group["hits"][kind]["percentiles_ns"].items():
                percent = 100.0 if which == "max" else float(which[1:])
                assert found.percentile(operation, percent, kind) == value
    offered = sum(row["offered"] for row in assay.spark.per_second(frame).collect())
    assert offered == report["overall"]["counts"]["offered"]


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    form: Any = pytest.importorskip("nbformat", reason="NOT RUN: no nbformat")
    client: Any = pytest.importorskip("nbclient", reason="NOT RUN: no nbclient")
    monkeypatch.setenv("ASSAY_RECORDS", "200000")
    folder = Path(__file__).resolve().parents[2] / "notebooks"
    notebook = form.read(folder / "05-spark.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client.NotebookClient(notebook, timeout=500, resources=resources).execute()
    text = str(notebook.cells[-1].outputs)
    assert "violations of linearizability, by both" in text
