"""Types of the native part; users take what the package `assay` exports."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from pyarrow import RecordBatch

__version__: str

class AssayError(Exception):
    """What Assay cannot do; the text says what to do."""

class NotARun(AssayError):
    """The path is no run directory, or has no history."""

class NewerVersion(AssayError):
    """A later release wrote it; update this package."""

class Damaged(AssayError):
    """A file of the run is truncated or was changed."""

class Incomparable(AssayError):
    """The runs cannot be used together like that."""

class WrongColumns(AssayError):
    """An Arrow stream lacks a column, or has another type."""

class Judge:
    """Judges the records that it is given; users take `assay.Judge`."""

    def __new__(cls, question: str) -> Judge: ...
    def push(self, stream: object) -> int: ...
    def finish(self) -> str: ...

class Latencies:
    """Histograms of response, service and lag by kind of operation, in nanoseconds.

    They are of measured operations that were done and met their record, as in the report.
    """

    def __new__(cls) -> Latencies: ...
    def push(self, stream: object) -> None:
        """Adds records: any source of an Arrow stream with the columns of a history."""
    def partial(self) -> bytes:
        """The histograms, for `merge` in another process."""
    def merge(self, partial: bytes) -> None:
        """Adds the histograms of another process."""
    def percentile(self, operation: str, percent: float, kind: str) -> int | None:
        """The percentile in ns; `operation` may be `all`; none if there are no such operations."""
    def counts(self) -> dict[str, int]:
        """How many operations of each kind there are."""

def question_json(dir: str | PathLike[str]) -> str: ...
def merge_json(question: str, shares: list[str]) -> str: ...
def isolation_question_json(dir: str | PathLike[str]) -> str: ...
def judge_sessions(question: str, stream: object) -> tuple[RecordBatch, str]: ...
def seen_of_records(steps: object, values: object) -> list[int]: ...
def judge_records_of_share(
    steps: object, values: object, seen: list[int]
) -> tuple[RecordBatch, str]: ...
def spans_of_islands(dependencies: object) -> list[tuple[int, int]]: ...
def join_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]: ...
def dependencies_of_islands(
    spans: list[tuple[int, int]], dependencies: object
) -> RecordBatch: ...
def judge_islands(dependencies: object, is_ordered: bool) -> str: ...
def conclude_isolation(question: str, notes: list[str], seen: list[int]) -> str: ...
def words_of_columns() -> dict[str, list[str]]: ...

class RecordStream:
    """The records of a run: a source of Arrow streams, one row for each operation."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class RunDirectory:
    """A run directory that was found; its figures are computed once, when they are wanted."""

    def __new__(cls, dir: str | PathLike[str], phases: str | None = None) -> RunDirectory: ...
    @property
    def dir(self) -> Path: ...
    def report_json(self) -> str: ...
    def report_html(self) -> str: ...
    def check_json(self) -> str: ...
    def manifest_json(self) -> str: ...
    def records(self) -> RecordStream: ...
    def percentile(
        self, operation: str, percent: float, latency: str, outcome: str
    ) -> tuple[int, tuple[int, int] | None, str | None] | None: ...

def find(name: str, runs_dir: str | PathLike[str], is_group_wanted: bool) -> Path: ...
def compare_json(
    old: tuple[str, str | PathLike[str]],
    new: tuple[str, str | PathLike[str]],
    fail_on: Sequence[str],
    confidence: float | None,
    minimum: float | None,
    force: bool,
) -> str: ...
