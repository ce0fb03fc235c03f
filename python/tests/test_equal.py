"""Every value equals that of the command line on the same run directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import assay
import duckdb
import polars
import pyarrow
import pyarrow.dataset
import pytest

NAMES = ["first", "second", "stale", "losing", "closed"]


@pytest.mark.parametrize("name", NAMES)
def test_figures_equal_those_of_report(
    runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    figures = assay.open(runs[name]).figures
    assert figures == command("report", runs[name])
    assert figures["overall"]["counts"]["offered"] > 1000


@pytest.mark.parametrize("phases", ["load", "all"])
def test_figures_of_other_phases_equal_those_of_report(
    runs: dict[str, Path], command: Callable[..., Any], phases: Any
) -> None:
    run = assay.open(runs["first"], phases=phases)
    assert run.figures == command("report", runs["first"], "--phases", phases)


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_equal_those_of_check(
    runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    verdicts = assay.open(runs[name]).check()
    assert verdicts.data == command("check", runs[name])


def test_a_store_that_answers_stale_is_found_out(runs: dict[str, Path]) -> None:
    verdicts = assay.open(runs["stale"]).check()
    assert "linearizable" in verdicts.violated
    assert verdicts["linearizable"].verdict == "violated"


def test_comparisons_equal_those_of_compare(
    runs: dict[str, Path], command: Callable[..., Any]
) -> None:
    ours = assay.compare(runs["first"], runs["second"])
    assert ours.data == command("compare", runs["first"], runs["second"])
    assert ours.changes[0].figure == "throughput"
    opened = assay.compare(assay.open(runs["first"]), assay.open(runs["second"]))
    assert opened.data == ours.data


def test_conditions_equal_those_of_compare(
    runs: dict[str, Path], command: Callable[..., Any]
) -> None:
    ours = assay.compare(
        runs["first"], runs["second"], fail_on=["throughput<-50%"], confidence=0.95
    )
    theirs = command(
        "compare", runs["first"], runs["second"], "--fail-on", "throughput<-50%",
        "--confidence", "95%",
    )
    assert ours.data == theirs
    assert len(ours.conditions) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["response", "service", "lag"])
def test_percentiles_equal_those_of_report(
    runs: dict[str, Path], command: Callable[..., Any], name: str, kind: Any
) -> None:
    run = assay.open(runs[name])
    report = command("report", runs[name])
    groups = {"all": report["overall"], **report["kinds"]}
    compared = 0
    for operation, group in groups.items():
        for outcome in ("hits", "misses", "failed"):
            distribution = group[outcome][kind]
            for which, value in distribution["percentiles_ns"].items():
                percent = 100.0 if which == "max" else float(which[1:])
                ours = run.percentile(operation, percent, kind=kind, outcome=outcome)
                assert ours is not None
                assert ours.value_ns == value
                stated = distribution["confidence"].get(which, {})
                assert ours.low_ns == stated.get("low_ns")
                assert ours.high_ns == stated.get("high_ns")
                if which != "max":
                    assert ours.no_interval == stated.get("no_interval")
                compared += 1
    assert compared >= 18


def test_other_percentiles_lie_between_their_neighbours(runs: dict[str, Path]) -> None:
    run = assay.open(runs["closed"])
    found = [run.percentile("all", percent) for percent in (90, 93.1, 95)]
    values = [one.value_ns for one in found if one is not None]
    assert len(values) == 3 and values == sorted(values)
    assert found[1] is not None and found[1].no_interval == "not-computed"


def test_the_hallmark_is_that_of_report(
    runs: dict[str, Path], command: Callable[..., Any]
) -> None:
    ours = assay.open(runs["first"]).hallmark
    theirs = command("report", runs["first"])["hallmark"]
    assert ours is not None
    assert (ours.verdict, ours.line, ours.reasons) == (
        theirs["verdict"], theirs["line"], theirs["reasons"],
    )
    assert [one.id for one in ours.checks] == [one["id"] for one in theirs["checks"]]


@pytest.mark.parametrize("name", NAMES)
def test_records_equal_those_of_the_files(runs: dict[str, Path], name: str) -> None:
    ours = assay.open(runs[name]).to_arrow()
    dataset = pyarrow.dataset.dataset(runs[name] / "history", partitioning="hive")
    theirs = dataset.to_table()
    order: list[tuple[str, Literal["ascending", "descending"]]]
    order = [("index", "ascending"), ("phase", "ascending")]
    ours, theirs = (table.sort_by(order) for table in (plain(ours), plain(theirs)))
    assert ours.num_rows == theirs.num_rows > 1000
    for column in theirs.column_names:
        wanted = theirs[column].cast(ours[column].type)
        assert ours[column].combine_chunks() == wanted.combine_chunks(), column


def plain(table: pyarrow.Table) -> pyarrow.Table:
    """Words as texts."""
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type):
            column = table[field.name].cast(pyarrow.string())
            table = table.set_column(place, field.name, column)
    return table


def test_frames_and_sql_see_the_same_rows(runs: dict[str, Path]) -> None:
    run = assay.open(runs["closed"])
    rows = run.to_arrow().num_rows
    pandas_frame, polars_frame = run.to_pandas(), run.to_polars()
    assert len(pandas_frame) == len(polars_frame) == rows
    assert str(pandas_frame["version_written"].dtype) == "UInt64"
    written = polars_frame["version_written"]
    assert pandas_frame["version_written"].sum() == written.sum()
    reads = polars_frame.filter(polars.col("kind") == "read").height
    relation = duckdb.sql("select count(*) from run where kind = 'read'")
    assert relation is not None and relation.fetchall() == [(reads,)]


def test_records_are_read_anew_each_time_and_may_be_dropped(runs: dict[str, Path]) -> None:
    stream = assay.open(runs["first"]).records()
    reader = pyarrow.RecordBatchReader.from_stream(stream)
    first = reader.read_next_batch()
    del reader
    again = pyarrow.table(stream)
    assert first.num_rows <= again.num_rows
    schema = pyarrow.Schema._import_from_c_capsule(stream.__arrow_c_schema__())
    assert schema == again.schema


def test_the_manifest_is_that_of_the_directory(runs: dict[str, Path]) -> None:
    manifest = assay.open(runs["first"]).manifest
    assert manifest["state"] == "finished"
    assert manifest["history"]["records"] == assay.open(runs["first"]).to_arrow().num_rows
