"""A run directory as Python objects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _text
from ._native import RecordStream, RunDirectory, find

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Phases = Literal["measure", "load", "all"]
Latency = Literal["response", "service", "lag"]
Outcome = Literal["hits", "misses", "failed"]


@dataclass(frozen=True)
class Percentile:
    """A percentile of a latency with its 95 % confidence interval; all in nanoseconds."""

    percent: float
    """99.0 for p99."""
    value_ns: int
    """The smallest recorded value that at least this share of the values does not exceed."""
    low_ns: int | None
    """Lower end of the interval, if there is one."""
    high_ns: int | None
    """Upper end of the interval, if there is one."""
    no_interval: str | None
    """Why there is none: ``few-beyond``, ``dependent``, …; ``not-computed`` for percentiles other
    than 50, 75, 90, 95, 99, 99.9, 99.99, 99.999; ``undefined`` for the maximum."""

    def __str__(self) -> str:
        name = "max" if self.percent == 100 else f"p{self.percent:g}"
        value = f"{name} {_text.duration(self.value_ns)}"
        if self.low_ns is None or self.high_ns is None:
            return value
        return f"{value} [{_text.duration(self.low_ns)}, {_text.duration(self.high_ns)}]"


@dataclass(frozen=True)
class Check:
    """One check of the hallmark: ``pass``, ``warn``, ``fail`` or not applicable."""

    id: str
    name: str
    verdict: str
    why: str | None
    measures: list[dict[str, Any]]


@dataclass(frozen=True)
class Hallmark:
    """Whether the figures of a run may be trusted, with every check that says so."""

    verdict: str
    """``valid``, ``valid-with-remarks``, ``invalid`` or ``unverified``."""
    line: str
    """The verdict with its reasons, in a sentence."""
    reasons: list[str]
    """Names of the checks that decided."""
    checks: list[Check]

    @property
    def is_valid(self) -> bool:
        """Whether it is valid, with or without remarks."""
        return self.verdict.startswith("valid")

    def __str__(self) -> str:
        return self.line


@dataclass(frozen=True)
class Finding:
    """The verdict on one quality, such as ``linearizable``."""

    quality: str
    verdict: str
    """``none-found``, ``violated`` or ``not-assessable``."""
    details: dict[str, Any]
    """Everything else that ``assay check --format json`` has: power, witnesses, the reason."""


class Verdicts(Mapping[str, Finding]):
    """Verdicts on the consistency of a run, by the names of the qualities."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        """The object of ``assay check --format json``."""
        self._findings = {
            one["quality"]: Finding(one["quality"], one["verdict"], one)
            for one in data["findings"]
        }

    def __getitem__(self, quality: str) -> Finding:
        return self._findings[quality]

    def __iter__(self) -> Iterator[str]:
        return iter(self._findings)

    def __len__(self) -> int:
        return len(self._findings)

    @property
    def violated(self) -> list[str]:
        """Names of the qualities that are violated."""
        return [name for name, one in self._findings.items() if one.verdict == "violated"]

    def __repr__(self) -> str:
        lines = (f"  {name}: {one.verdict}" for name, one in self._findings.items())
        return "\n".join([f"verdicts on {self.data['title']}", *lines])

    def _repr_html_(self) -> str:
        def opportunities(one: Finding) -> str:
            power = one.details.get("power")
            return f"{power['opportunities']:,}" if power else "–"

        rows = [
            (name, one.verdict, opportunities(one), str(one.details.get("reason") or ""))
            for name, one in self._findings.items()
        ]
        header = ("quality", "verdict", "opportunities", "reason")
        return _text.table(f"verdicts on {self.data['title']}", header, rows)


class Run:
    """A run directory: everything is computed from it when it is first wanted.

    ``Run`` is itself a source of Arrow streams, so ``pyarrow.table(run)``, ``polars.DataFrame(run)``
    and, as a variable in SQL, DuckDB take it as it is.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, phases: Phases | None = None
    ) -> None:
        self._native = RunDirectory(path, phases)

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._native.dir

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The object of ``assay report --format json`` (its schema: ``assay schema result``)."""
        figures: dict[str, Any] = json.loads(self._native.report_json())
        return figures

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """``run.toml``: what is needed to repeat the run, without secrets."""
        manifest: dict[str, Any] = json.loads(self._native.manifest_json())
        return manifest

    @cached_property
    def hallmark(self) -> Hallmark | None:
        """Whether the figures may be trusted; none if the run was not examined."""
        found = self.figures["hallmark"]
        if found is None:
            return None
        checks = [
            Check(one["id"], one["name"], one["verdict"], one["why"], one["measures"])
            for one in found["checks"]
        ]
        return Hallmark(found["verdict"], found["line"], found["reasons"], checks)

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdicts on consistency, judged when they are first wanted."""
        return Verdicts(json.loads(self._native.check_json()))

    def check(self) -> Verdicts:
        """As ``assay check``: the verdicts on consistency. Memory: up to 330 bytes for each operation,
        within four fifths of what is available; a larger run is judged in parts of its records."""
        return self.verdicts

    def percentile(
        self,
        operation: str,
        percent: float,
        *,
        kind: Latency = "response",
        outcome: Outcome = "hits",
    ) -> Percentile | None:
        """A percentile of a latency, in nanoseconds, with its interval.

        :param operation: ``read``, ``update``, …, ``all``; a transaction type or a query.
        :param percent: 0 to 100: 99 for p99, 100 for the maximum.
        :param kind: ``response`` (from when the operation was due), ``service`` (from when it was
            sent) or ``lag`` (the difference).
        :param outcome: of ``hits``, ``misses`` or ``failed`` operations.
        :returns: none if there was no such operation with that outcome.
        :raises KeyError: if the run has no such operation; the text has those that it has.
        """
        found = self._native.percentile(operation, percent, kind, outcome)
        if found is None:
            return None
        value, interval, reason = found
        low, high = interval if interval is not None else (None, None)
        return Percentile(percent, value, low, high, reason)

    def records(self) -> RecordStream:
        """The records, one row for each operation, in no particular order.

        The columns are those of the history's files (docs/formats/history.md) and, before them,
        ``agent`` and ``worker``. Times are int64 nanoseconds since the run's epoch, −1 for what did
        not happen; ``kind``, ``phase``, ``outcome``, ``reason`` and ``verified`` are dictionaries of
        words; ``key`` and versions are uint64.
        """
        return self._native.records()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.records().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.records().__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """The records as a ``pyarrow.Table``; about 130 bytes for each operation."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a ``pandas.DataFrame``; words are categories, 64-bit numbers without a
        sign are ``UInt64``, which has a place for none."""
        import pandas
        import pyarrow

        exact: dict[pyarrow.DataType, Any] = {pyarrow.uint64(): pandas.UInt64Dtype()}
        frame: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=exact.get)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The records as a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self)

    def series(self) -> list[dict[str, Any]]:
        """The course of the run: one entry for each interval, as in ``figures["series"]``."""
        intervals: list[dict[str, Any]] = self.figures["series"]["intervals"]
        return intervals

    def html(self) -> str:
        """The page of ``assay report --format html``, complete in itself."""
        return self._native.report_html()

    def __repr__(self) -> str:
        hallmark = self.hallmark
        verdict = hallmark.verdict if hallmark is not None else "not examined"
        done = _text.rate(self.figures["overall"]["rates"]["done_per_s"])
        title = self.figures["run"]["title"]
        return f"<Run {title}: {done}, hallmark {verdict}, in {self.path}>"

    def _repr_html_(self) -> str:
        figures = self.figures
        groups = [("all", figures["overall"]), *figures["kinds"].items()]
        header = ("operations", "done", "done/s", "failed", "p50", "p99", "p99.9", "max")
        rows = [_row(name, group) for name, group in groups]
        foot = self.hallmark.line if self.hallmark is not None else "not examined"
        title = f"{figures['run']['title']} · {figures['load']['text']}"
        return _text.table(title, header, rows, foot)


class Group:
    """Repetitions of one set-up, each with its own run directory; made by :func:`repeat`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        """The directory of the group."""
        folders = [one for one in self.path.iterdir() if one.name.isdecimal()]
        self.runs: list[Run] = [Run(one) for one in sorted(folders, key=lambda one: int(one.name))]
        """The runs, in the order in which they were made."""

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        return f"<Group of {len(self.runs)} runs in {self.path}>"


def _row(name: str, group: dict[str, Any]) -> tuple[str, ...]:
    counts, percentiles = group["counts"], group["hits"]["response"]["percentiles_ns"]
    failed = counts["refused"] + counts["unknown"] + counts["dropped"]
    shown = (percentiles.get(which) for which in ("p50", "p99", "p99.9", "max"))
    return (
        name,
        f"{counts['done']:,}",
        _text.rate(group["rates"]["done_per_s"]),
        f"{failed:,}",
        *(_text.duration(value) for value in shown),
    )


def open(
    path: str | os.PathLike[str],
    *,
    runs_dir: str | os.PathLike[str] = "runs",
    phases: Phases | None = None,
) -> Run:
    """Opens a run: a directory, a name in ``runs_dir``, ``last`` or ``last-1``.

    :param phases: what the figures are of: ``measure`` as usual, ``load``, or ``all``.
    :raises NotARun: if it is none, or a group of repeated runs.
    :raises NewerVersion: if a later release wrote it.
    :raises Damaged: if a file in it is truncated or was changed.
    """
    return Run(find(os.fspath(path), runs_dir, False), phases=phases)
