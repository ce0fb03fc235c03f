"""Verdicts and percentiles of a run by DuckDB, in memory or over its Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import duckdb

from ._isolation import SESSION_COLUMNS, in_process, power_of_two
from ._native import Latencies
from ._run import Verdicts
from ._shares import Judge, merge

_COLUMNS = (
    "agent, index, session, kind, phase, key, started, ended, outcome, reason, found, bytes, "
    "version_written, version_read, statement, node"
)


def read(
    connection: duckdb.DuckDBPyConnection, path: str | os.PathLike[str], name: str = "records"
) -> None:
    """Makes a view of the sealed history in the run directory ``path``, with its column ``agent``;
    and one of the values that were read, ``<name>_values``, if the run has kept them."""
    pattern = os.path.join(os.fspath(path), "history", "*", "*.parquet").replace("'", "''")
    connection.execute(
        f'create or replace view "{name}" as select * '
        f"from read_parquet('{pattern}', hive_partitioning = true)"
    )
    values = os.path.join(os.fspath(path), "reads.parquet")
    if os.path.exists(values):
        file = values.replace("'", "''")
        connection.execute(
            f"create or replace view \"{name}_values\" as select * from read_parquet('{file}')"
        )


def check(
    connection: duckdb.DuckDBPyConnection,
    question: Mapping[str, Any],
    *,
    table: str = "records",
    shares: int = 8,
) -> Verdicts:
    """As ``assay check`` on the records in ``table``, dealt out by key into ``shares`` that are
    judged one after another, so that memory holds one share at a time."""
    first = connection.execute(
        f"select min(started) from \"{table}\" where phase = 'final-read'"
    ).fetchall()
    known = {**question, "final_reads_from": first[0][0]}
    judged = []
    for number in range(shares):
        judge = Judge(known)
        rows = connection.sql(
            f'select {_COLUMNS} from "{table}" where hash(key) % {shares} = {number}'
        )
        judge.push(rows.to_arrow_reader(65_536))
        judged.append(judge.finish())
    return merge(judged, known)


def isolation(
    connection: duckdb.DuckDBPyConnection,
    question: Mapping[str, Any],
    *,
    table: str = "records",
    shares: int = 8,
) -> Verdicts:
    """Levels of isolation as ``assay check``, of the views that :func:`read` makes; ``question`` is
    :func:`assay.isolation_question`."""
    count = power_of_two(shares)
    columns = ", ".join(SESSION_COLUMNS)

    def sessions(number: int) -> Any:
        rows = f'select {columns} from "{table}" where session % {count} = {number}'
        return connection.sql(rows).to_arrow_reader(65_536)

    def values(number: int) -> Any:
        rows = f'select * from "{table}_values" where key % {count} = {number}'
        return connection.sql(rows).to_arrow_reader(65_536)

    return in_process(dict(question), sessions, values, count)


def latencies(connection: duckdb.DuckDBPyConnection, *, table: str = "records") -> Latencies:
    """Response, service and lag of measured operations that were done and met their record."""
    rows = connection.sql(
        f'select kind, phase, intended, started, ended, outcome, found from "{table}"'
    )
    found = Latencies()
    found.push(rows.to_arrow_reader(65_536))
    return found
