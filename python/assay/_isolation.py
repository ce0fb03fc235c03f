"""Isolation of a run whose transactions are dealt out, for engines with more memory or machines.

Three rounds, each dealt out by another column: whole sessions become steps of transactions; all steps
on a record become dependencies between transactions; and the pieces of time within which all cycles
of dependencies must lie (islands) are judged each by itself. The verdicts, opportunities and counts
of anomalies equal those of ``assay check`` but for fractured reads and causality, whose cycles may
count more often.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow
import pyarrow.compute

from . import _native
from ._run import Verdicts
from ._shares import IsolationQuestion

UNKNOWN = 2
"""The code of an outcome that nobody knows, in steps of transactions."""

SESSION_COLUMNS = (
    "agent", "index", "session", "process", "transaction", "ends_transaction", "kind", "phase", "key",
    "started", "ended", "outcome", "found", "rows", "requests", "statement",
)
STEP_COLUMNS = (
    "index", "session", "started", "ended", "outcome", "place", "key", "operation", "role", "is_known",
    "rows",
)
DEPENDENCY_COLUMNS = (
    *(f"{end}_{name}" for end in ("from", "to")
      for name in ("index", "session", "started", "ended", "outcome")),
    "key", "sort", "place", "island",
)


def conclude(
    question: IsolationQuestion, notes: Iterable[str], seen: Iterable[int] = ()
) -> Verdicts:
    """Sums up what all judges noted; ``seen`` are transactions of unknown outcome that others read."""
    text = _native.conclude_isolation(json.dumps(question), list(notes), list(seen))
    return Verdicts(json.loads(text))


def is_ordered(notes: Iterable[str]) -> bool:
    """Whether the order of all records' versions is known, by what judges of records noted."""
    return not any(json.loads(note)["unordered"] for note in notes)


def in_process(
    question: IsolationQuestion,
    sessions: Callable[[int], Any],
    values: Callable[[int], Any],
    shares: int,
) -> Verdicts:
    """Judges one share after another in this process.

    ``sessions(n)`` gives the records of sessions, ``values(n)`` the values read from records whose
    number modulo ``shares`` is ``n``. Steps and dependencies of all shares stay in memory: about 90
    bytes for each step, 110 for each dependency.
    """
    asked = json.dumps(question)
    judged = [_native.judge_sessions(asked, sessions(number)) for number in range(shares)]
    notes = [note for _, note in judged]
    steps = pyarrow.Table.from_batches([batch for batch, _ in judged])

    def steps_on(number: int) -> pyarrow.Table:
        return steps.filter(_share_of(steps["key"], shares, number))

    seen: list[int] = []
    if UNKNOWN in steps["outcome"].unique().to_pylist():
        found = (
            _native.seen_of_records(steps_on(number), values(number)) for number in range(shares)
        )
        seen = sorted({index for of_share in found for index in of_share})
    linked = [
        _native.judge_records_of_share(steps_on(number), values(number), seen)
        for number in range(shares)
    ]
    dependencies = pyarrow.Table.from_batches([batch for batch, _ in linked])
    ordered = is_ordered(note for _, note in linked)
    spans = _native.spans_of_islands(dependencies)
    of_islands = _native.dependencies_of_islands(spans, dependencies)
    notes += [note for _, note in linked]
    notes.append(_native.judge_islands(pyarrow.Table.from_batches([of_islands]), ordered))
    return conclude(question, notes, seen)


def power_of_two(shares: int) -> int:
    """The least power of two that is not less: signed and unsigned numbers have the same remainder."""
    if shares < 1:
        raise ValueError(f"shares is {shares}; at least 1 is needed")
    return 1 << (shares - 1).bit_length()


def _share_of(keys: pyarrow.ChunkedArray[Any], shares: int, number: int) -> Any:
    compute: Any = pyarrow.compute
    return compute.equal(compute.bit_wise_and(keys, shares - 1), number)
