"""Verdicts, percentiles and availability of a run by PySpark 4.1 or newer.

Workers need this package. ``PYSPARK_PYTHON`` must name a Python that has it, with pyarrow and
``pandas<3``. Words cross to Python as small numbers, keys as ``bigint``: :func:`read` makes them so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow

from . import _native
from ._isolation import (
    DEPENDENCY_COLUMNS,
    SESSION_COLUMNS,
    STEP_COLUMNS,
    UNKNOWN,
    conclude,
    is_ordered,
)
from ._native import Latencies, words_of_columns
from ._run import Verdicts
from ._shares import Judge, merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNSIGNED = ("index", "process", "key", "version_written", "version_read")
_JUDGED = (
    "agent", "index", "session", "kind", "phase", "key", "started", "ended", "outcome", "found",
    "reason", "bytes", "version_written", "version_read", "statement", "node",
)
_TIMED = ("kind", "phase", "intended", "started", "ended", "outcome", "found")
_WORDS = {name: words_of_columns()[name] for name in ("kind", "phase", "outcome")}
_MEASURE = _WORDS["phase"].index("measure")
_FINAL = _WORDS["phase"].index("final-read")
_DONE = _WORDS["outcome"].index("done")


def read(spark: SparkSession, path: str | os.PathLike[str]) -> DataFrame:
    """The records of the sealed history in the run directory ``path``.

    Unsigned 64-bit columns are ``bigint`` with the same bits: Spark reads them as
    ``decimal(20, 0)``, and a cast fails from 2^63 on. ``kind``, ``phase`` and ``outcome`` are codes,
    since texts would cross to Python without their dictionaries.
    """
    from pyspark.sql import functions as f

    frame = _wrapped(spark.read.parquet(os.path.join(os.fspath(path), "history")), _UNSIGNED)
    for name, words in _WORDS.items():
        code = f.when(f.lit(False), f.lit(0))
        for number, word in enumerate(words):
            code = code.when(f.col(name) == word, f.lit(number))
        frame = frame.withColumn(name, code.cast("tinyint"))
    return frame


def _wrapped(frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
    from pyspark.sql import functions as f

    for name in names:
        wrapped = f"case when {name} >= {2**63} then {name} - {2**64} else {name} end"
        frame = frame.withColumn(name, f.expr(f"cast({wrapped} as bigint)"))
    return frame


def read_values(spark: SparkSession, path: str | os.PathLike[str]) -> DataFrame:
    """The values that were read in the run in ``path``, as :func:`read` gives its records."""
    frame = spark.read.parquet(os.path.join(os.fspath(path), "reads.parquet"))
    return _wrapped(frame, ("index", "key"))


def check(
    frame: DataFrame, question: Mapping[str, Any], *, shares: int | None = None
) -> Verdicts:
    """As ``assay check``, dealt out by key into ``shares`` (four for each core if not said).

    A group costs some milliseconds beside its records, so shares are few and large; one record's
    operations are all in one share, in the memory of one worker (about 250 bytes each).
    """
    from pyspark.sql import functions as f

    spark = frame.sparkSession
    count = shares or 4 * spark.sparkContext.defaultParallelism
    final = frame.filter(f.col("phase") == _FINAL).agg(f.min("started")).first()
    known = {**question, "final_reads_from": final[0] if final else None}

    # The iterator form, which does not hold a group as one table, is chosen by these types.
    def judge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        one = Judge(known)
        for batch in batches:
            one.push(batch)
        yield pyarrow.RecordBatch.from_pydict({"share": [one.finish()]})

    # Not named in the annotations of the module, which are texts here.
    judge.__annotations__ = {
        "batches": Iterator[pyarrow.RecordBatch],
        "return": Iterator[pyarrow.RecordBatch],
    }
    dealt = frame.select(*_JUDGED, f.pmod(f.xxhash64("key"), f.lit(count)).alias("share_number"))
    judged = dealt.groupBy("share_number").applyInArrow(judge, "share string")
    return merge([row["share"] for row in judged.collect()], known)


def isolation(
    frame: DataFrame,
    values: DataFrame,
    question: Mapping[str, Any],
    *,
    shares: int | None = None,
) -> Verdicts:
    """Levels of isolation as ``assay check``; ``question`` is :func:`assay.isolation_question`.

    Dealt out by session, by key, then by island, each time into ``shares`` (four for each core if
    not said). A share is in the memory of one worker; so are the islands whose numbers fall into it.
    """
    import json

    from pyspark.sql import functions as f

    spark = frame.sparkSession
    count = shares or 4 * spark.sparkContext.defaultParallelism
    asked = json.dumps(dict(question))

    def share(of: str) -> Any:
        return f.pmod(f.xxhash64(of), f.lit(count)).alias("share_number")

    def with_note(batch: pyarrow.RecordBatch, note: str) -> pyarrow.Table:
        # What a share shows is a row without numbers.
        rows = pyarrow.Table.from_batches([batch])
        rows = rows.append_column("note", pyarrow.nulls(len(rows), pyarrow.string()))
        blank = {name: [None] for name in rows.column_names[:-1]}
        return pyarrow.concat_tables(
            [rows, pyarrow.table({**blank, "note": [note]}, schema=rows.schema)]
        )

    def of_session(records: pyarrow.Table) -> pyarrow.Table:
        return with_note(*_native.judge_sessions(asked, records))

    def schema(columns: tuple[str, ...]) -> str:
        return ", ".join(f"`{name}` bigint" for name in columns) + ", note string"

    def parts(of: DataFrame) -> tuple[DataFrame, list[str]]:
        kept = of.persist()
        notes = [row["note"] for row in kept.filter("note is not null").collect()]
        return kept.filter("note is null").drop("note"), notes

    dealt = frame.select(*SESSION_COLUMNS, share("session")).groupBy("share_number")
    steps, notes = parts(dealt.applyInArrow(of_session, schema(STEP_COLUMNS)))
    by_record = steps.select(*STEP_COLUMNS, share("key")).groupBy("share_number")
    read = values.select("index", "item", "key", "value", share("key")).groupBy("share_number")

    seen: list[int] = []
    if steps.filter(f.col("outcome") == UNKNOWN).limit(1).count():

        def who(of_steps: pyarrow.Table, of_values: pyarrow.Table) -> pyarrow.Table:
            return pyarrow.table({"seen": _native.seen_of_records(of_steps, of_values)},
                                 schema=pyarrow.schema([("seen", pyarrow.int64())]))

        found = by_record.cogroup(read).applyInArrow(who, "seen bigint")
        seen = [row["seen"] for row in found.distinct().collect()]

    def of_record(of_steps: pyarrow.Table, of_values: pyarrow.Table) -> pyarrow.Table:
        return with_note(*_native.judge_records_of_share(of_steps, of_values, seen))

    linked = by_record.cogroup(read).applyInArrow(of_record, schema(DEPENDENCY_COLUMNS))
    dependencies, of_records = parts(linked)
    ordered = is_ordered(of_records)

    def span(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            found = _native.spans_of_islands(pyarrow.Table.from_batches([batch]))
            lows, highs = [low for low, _ in found], [high for _, high in found]
            yield pyarrow.RecordBatch.from_pydict({"low": lows, "high": highs}, schema=pyarrow.schema(
                [("low", pyarrow.int64()), ("high", pyarrow.int64())]
            ))

    found = dependencies.mapInArrow(span, "low bigint, high bigint").collect()
    spans = _native.join_spans([(row["low"], row["high"]) for row in found])

    def place(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield _native.dependencies_of_islands(spans, pyarrow.Table.from_batches([batch]))

    def of_island(rows: pyarrow.Table) -> pyarrow.Table:
        return pyarrow.table({"note": [_native.judge_islands(rows, ordered)]})

    columns = ", ".join(f"`{name}` bigint" for name in DEPENDENCY_COLUMNS)
    placed = dependencies.mapInArrow(place, columns).select("*", share("island"))
    judged = placed.groupBy("share_number").applyInArrow(of_island, "note string")
    notes += of_records + [row["note"] for row in judged.collect()]
    return conclude(dict(question), notes, seen)


def latencies(frame: DataFrame) -> Latencies:
    """Response, service and lag of measured operations that were done and met their record:
    histograms of each partition, merged here. Their percentiles are those of the report."""

    def count(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        found = Latencies()
        for batch in batches:
            found.push(batch)
        yield pyarrow.RecordBatch.from_pydict({"partial": [found.partial()]})

    partials = frame.select(*_TIMED).mapInArrow(count, "partial binary")
    merged = Latencies()
    for row in partials.collect():
        merged.merge(bytes(row["partial"]))
    return merged


def per_second(frame: DataFrame) -> DataFrame:
    """Availability over time: offered and done operations of each second of intended time."""
    from pyspark.sql import functions as f

    measured = frame.filter(f.col("phase") == _MEASURE)
    second = (f.col("intended") / 1_000_000_000).cast("bigint").alias("second")
    done = f.sum((f.col("outcome") == _DONE).cast("bigint")).alias("done")
    return measured.groupBy(second).agg(f.count("*").alias("offered"), done).orderBy("second")
