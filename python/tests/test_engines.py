"""Verdicts and percentiles by engines equal those of the command line on the same run."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import assay
import assay.duckdb
import assay.polars
import duckdb
import polars
import pyarrow
import pytest

ACROSS_RECORDS = {"monotonic-writes", "writes-follow-reads"}
NAMES = ["first", "stale", "losing", "closed"]


def comparable(check: dict[str, Any], merged: bool = False) -> dict[str, Any]:
    """What both have: without the checks and what only the command line says, and of witnesses
    their margins, since of equal ones others may be kept."""
    check = copy.deepcopy(check)
    for name in ("checks", "warnings", "anomalies", "weakest_violated", "transactions"):
        check.pop(name, None)
    findings = [one for one in check["findings"] if one["quality"] not in ACROSS_RECORDS]
    for finding in findings:
        margins = [one["margin_ns"] for one in finding.pop("witnesses", [])]
        finding["margins"] = margins
        finding.pop("version_order") if finding["verdict"] == "not-assessable" else None
    check["findings"] = findings
    return check


def same(ours: assay.Verdicts, theirs: dict[str, Any]) -> None:
    left, right = comparable(ours.data), comparable(theirs)
    assert left["findings"] == right["findings"]
    assert left == right


OF_TRANSACTIONS = ["forks", "chains", "transactions"]
# Cycles through what was there before all writes count once for each island.
MORE_OFTEN = {"fractured-read", "non-monotonic-view", "causality-violation"}


def same_isolation(ours: assay.Verdicts, theirs: dict[str, Any]) -> None:
    """Verdicts, opportunities and the anomalies that count alike are the same."""
    verdicts = [(one["quality"], one["verdict"], one["power"], one.get("reason"))
                for one in theirs["findings"]]
    assert [(one["quality"], one["verdict"], one["power"], one.get("reason"))
            for one in ours.data["findings"]] == verdicts

    def alike(check: dict[str, Any]) -> list[dict[str, Any]]:
        return [one for one in check["anomalies"] if one["anomaly"] not in MORE_OFTEN]

    assert alike(ours.data) == alike(theirs)
    assert ours.data["transactions"] == theirs["transactions"]
    assert ours.data["weakest_violated"] == theirs["weakest_violated"]


@pytest.mark.parametrize("shares", [1, 5])
@pytest.mark.parametrize("name", OF_TRANSACTIONS)
def test_isolation_equals_the_command_line(
    runs: dict[str, Path], command: Callable[..., Any], name: str, shares: int
) -> None:
    question, theirs = assay.isolation_question(runs[name]), command("check", runs[name])
    assert name == "transactions" or theirs["anomalies"]
    frame = assay.open(runs[name]).to_polars()
    values = polars.read_parquet(runs[name] / "reads.parquet")
    same_isolation(assay.polars.isolation(frame, values, question, shares=shares), theirs)
    connection = duckdb.connect()
    assay.duckdb.read(connection, runs[name])
    same_isolation(assay.duckdb.isolation(connection, question, shares=shares), theirs)


def test_isolation_is_refused_where_there_are_no_transactions(runs: dict[str, Path]) -> None:
    with pytest.raises(assay.Incomparable, match="no transactions on lists or registers"):
        assay.isolation_question(runs["first"])


@pytest.mark.parametrize("shares", [1, 7])
@pytest.mark.parametrize("name", NAMES)
def test_polars_equals_the_command_line(
    runs: dict[str, Path], command: Callable[..., Any], name: str, shares: int
) -> None:
    run = assay.open(runs[name])
    ours = assay.polars.check(run.to_polars(), assay.question(run), shares=shares)
    same(ours, command("check", runs[name]))


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_equals_the_command_line(
    runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    connection = duckdb.connect()
    assay.duckdb.read(connection, runs[name])
    ours = assay.duckdb.check(connection, assay.question(runs[name]), shares=5)
    same(ours, command("check", runs[name]))


def test_a_store_that_loses_writes_is_found_out(runs: dict[str, Path]) -> None:
    run = assay.open(runs["losing"])
    ours = assay.polars.check(run.to_polars(), assay.question(run), shares=3)
    assert "no-lost-writes" in ours.violated
    assert ours.data["lost_writes"]["count"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_latencies_equal_those_of_the_report(
    runs: dict[str, Path], command: Callable[..., Any], name: str
) -> None:
    frame = assay.open(runs[name]).to_polars()
    connection = duckdb.connect()
    assay.duckdb.read(connection, runs[name])
    merged = assay.Latencies()
    for part in frame.iter_slices(10_000):
        merged.merge(assay.polars.latencies(part).partial())
    report = command("report", runs[name])
    for found in (merged, assay.duckdb.latencies(connection)):
        compared = 0
        for operation, group in {"all": report["overall"], **report["kinds"]}.items():
            for kind in ("response", "service", "lag"):
                for which, value in group["hits"][kind]["percentiles_ns"].items():
                    percent = 100.0 if which == "max" else float(which[1:])
                    assert found.percentile(operation, percent, kind) == value
                    compared += 1
        assert compared >= 54
        counts = {kind: group["counts"]["hits"] for kind, group in report["kinds"].items()}
        assert found.counts() == counts


def test_what_engines_make_of_columns_is_taken(runs: dict[str, Path]) -> None:
    run = assay.open(runs["stale"])
    question = assay.question(run)
    table = run.to_arrow()
    final = polars.DataFrame(run).filter(polars.col("phase").cast(polars.String) == "final-read")
    question["final_reads_from"] = final["started"].min()

    def judged(changed: pyarrow.Table) -> str:
        judge = assay.Judge(question)
        assert judge.push(changed) == table.num_rows
        return judge.finish()

    wanted = judged(table)
    decimal, texts = table, table
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_uint64(field.type):
            numbers = table[field.name].cast(pyarrow.decimal128(20, 0))
            decimal = decimal.set_column(place, field.name, numbers)
        if pyarrow.types.is_dictionary(field.type):
            column = table[field.name].cast(pyarrow.large_string())
            texts = texts.set_column(place, field.name, column)
    assert judged(decimal) == wanted
    assert judged(texts) == wanted


def test_wrong_columns_are_said(runs: dict[str, Path]) -> None:
    run = assay.open(runs["stale"])
    table, question = run.to_arrow(), assay.question(run)
    with pytest.raises(assay.WrongColumns, match='no column "key"; there are agent'):
        assay.Judge(question).push(table.drop_columns(["key"]))
    place = table.schema.get_field_index("key")
    floats = table.set_column(place, "key", table["key"].cast(pyarrow.float64()))
    with pytest.raises(assay.WrongColumns, match='"key" is Float64; a whole number'):
        assay.Judge(question).push(floats)
    place = table.schema.get_field_index("kind")
    words = pyarrow.array(["reed"] * table.num_rows)
    with pytest.raises(assay.WrongColumns, match='"kind" has "reed"'):
        assay.Judge(question).push(table.set_column(place, "kind", words))
    with pytest.raises((TypeError, ValueError)):
        assay.Judge(question).push([1, 2, 3])
    with pytest.raises(ValueError, match="assay.question"):
        assay.Judge({})


def test_shares_that_are_not_all_or_too_many_are_no_verdict(runs: dict[str, Path]) -> None:
    run = assay.open(runs["stale"])
    question = assay.question(run)
    judge = assay.Judge(question)
    judge.push(run.to_arrow())
    share = judge.finish()
    with pytest.raises(assay.AssayError, match="given twice"):
        assay.merge([share, share], question)
    judge = assay.Judge(question)
    judge.push(run.to_arrow().slice(0, 100))
    part = assay.merge([judge.finish()], question)
    assert {one.verdict for one in part.values()} == {"not-assessable"}
    assert part["linearizable"].details["reason"] == "incomplete"
    with pytest.raises(assay.AssayError, match="make another"):
        judge.push(run.to_arrow())


def test_a_run_of_transactions_cannot_be_dealt_out(tmp_path: Path) -> None:
    run = assay.bench(
        "bank", "memory:", rate="500/s", duration="1s", run_dir=tmp_path / "bank",
        progress="none",
    )
    with pytest.raises(assay.Incomparable, match="assay check"):
        assay.question(run)
