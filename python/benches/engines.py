"""Cost for each record of verdicts and percentiles by engine: the table of docs/python.md.

    assay bench register -t 'sim:?stale_cache=0.1%' --rate 100k/s --duration 100s --seed 3 --run-dir m7
    python python/benches/engines.py m7 assay polars duckdb spark

The other two sizes are runs of 10 s and of 1000 s.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import assay

RECORDS_PER_SHARE = 4_000_000


def timed(name: str, records: int, work: Callable[[], Any]) -> Any:
    begun = time.perf_counter()
    result = work()
    took = time.perf_counter() - begun
    print(f"{name:<24} {took:8.1f} s {took / records * 1e6:8.2f} µs/record", flush=True)
    return result


def shares(records: int) -> int:
    return max(8, records // RECORDS_PER_SHARE)


def by_assay(run: assay.Run, question: Any, records: int) -> list[Any]:
    return [timed("assay check", records, run.check)]


def by_polars(run: assay.Run, question: Any, records: int) -> list[Any]:
    import assay.polars
    import polars

    frame = polars.scan_parquet(os.path.join(run.path, "history", "**", "*.parquet"))
    timed("polars latencies", records, lambda: assay.polars.latencies(frame))
    def check() -> Any:
        return assay.polars.check(frame, question, shares=shares(records))

    return [timed("polars check", records, check)]


def by_duckdb(run: assay.Run, question: Any, records: int) -> list[Any]:
    import assay.duckdb
    import duckdb

    connection = duckdb.connect()
    assay.duckdb.read(connection, run.path)
    timed("duckdb latencies", records, lambda: assay.duckdb.latencies(connection))
    def check() -> Any:
        return assay.duckdb.check(connection, question, shares=shares(records))

    return [timed("duckdb check", records, check)]


def by_spark(run: assay.Run, question: Any, records: int) -> list[Any]:
    import assay.spark
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    spark = (
        builder.master("local[*]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    frame = assay.spark.read(spark, run.path)
    frame.count()
    timed("spark latencies", records, lambda: assay.spark.latencies(frame))
    def check() -> Any:
        return assay.spark.check(frame, question, shares=shares(records))

    return [timed("spark check", records, check)]


ENGINES = {"assay": by_assay, "polars": by_polars, "duckdb": by_duckdb, "spark": by_spark}


def main() -> None:
    path, *names = sys.argv[1:]
    run = assay.open(path)
    question = assay.question(run)
    records = question["records"]
    print(f"{records:,} records, {os.cpu_count()} processors")
    verdicts = [one for name in names for one in ENGINES[name](run, question, records)]
    # Guarantees of sessions that connect several records are judged by the command alone.
    dealt = set.intersection(*(set(one) for one in verdicts))
    found = {
        str({n: (one[n].verdict, one[n].details.get("violations")) for n in sorted(dealt)})
        for one in verdicts
    }
    print("\n".join(found))
    if len(found) != 1:
        sys.exit("the engines differ")


main()
