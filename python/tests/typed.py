"""What type checkers must understand of the package; it is checked, not run."""

import assay
import pandas
import polars
import pyarrow


def use() -> None:
    run: assay.Run = assay.bench("ycsb-b", target="memory:", rate="1k/s", closed=None)
    found: assay.Percentile | None = run.percentile("read", 99, kind="service")
    if found is not None:
        low: int | None = found.low_ns
        value: int = found.value_ns
        print(low, value)
    hallmark = run.hallmark
    if hallmark is not None and not hallmark.is_valid:
        print([check.name for check in hallmark.checks if check.verdict == "fail"])
    violated: list[str] = run.check().violated
    table: pyarrow.Table = run.to_arrow()
    frame: pandas.DataFrame = run.to_pandas()
    other: polars.DataFrame = run.to_polars()
    compared: assay.Comparison = assay.compare(run, "last", fail_on="p99>+10%")
    effects: list[assay.Change] = compared.changes
    print(violated, table, frame, other, effects)
