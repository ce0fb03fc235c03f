"""Verdicts and percentiles of a run from a Polars frame of its records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars

from ._isolation import SESSION_COLUMNS, in_process, power_of_two
from ._native import Latencies
from ._run import Verdicts
from ._shares import Judge, merge


def check(
    frame: polars.DataFrame | polars.LazyFrame, question: Mapping[str, Any], *, shares: int = 8
) -> Verdicts:
    """As ``assay check``, dealt out by key into ``shares`` that are judged one after another.

    A lazy frame is read once for each share, so that memory holds one share at a time.
    """
    lazy = frame.lazy()
    final = polars.col("phase").cast(polars.String) == "final-read"
    first = lazy.filter(final).select(polars.col("started").min()).collect().item()
    known = {**question, "final_reads_from": first}
    judged = []
    for number in range(shares):
        judge = Judge(known)
        judge.push(lazy.filter(polars.col("key").hash() % shares == number).collect())
        judged.append(judge.finish())
    return merge(judged, known)


def isolation(
    frame: polars.DataFrame | polars.LazyFrame,
    values: polars.DataFrame | polars.LazyFrame,
    question: Mapping[str, Any],
    *,
    shares: int = 8,
) -> Verdicts:
    """Levels of isolation as ``assay check``, of the records and the values that were read
    (``reads.parquet`` of the run directory); ``question`` is :func:`assay.isolation_question`."""
    count = power_of_two(shares)
    records, read = frame.lazy().select(SESSION_COLUMNS), values.lazy()

    def share(of: polars.LazyFrame, column: str) -> Any:
        return lambda number: of.filter(polars.col(column) % count == number).collect()

    return in_process(dict(question), share(records, "session"), share(read, "key"), count)


def latencies(frame: polars.DataFrame | polars.LazyFrame) -> Latencies:
    """Response, service and lag of measured operations that were done and met their record."""
    columns = ["kind", "phase", "intended", "started", "ended", "outcome", "found"]
    found = Latencies()
    found.push(frame.lazy().select(columns).collect())
    return found
