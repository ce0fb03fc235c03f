"""Verdicts of a run that is dealt out by key, for engines with more memory or machines.

What is said of single records is local: verdicts on disjoint sets of records add up to that on all of
them (Herlihy, Wing 1990). So an engine deals the records out by key, a :class:`Judge` judges each
share, and :func:`merge` sums up. The result equals ``assay check`` on the same run in every verdict,
count, opportunity and figure of staleness; of witnesses with equal margins it may keep others. Two
guarantees of sessions connect several records and are not judged: monotonic writes and writes follow
reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._run import Run, Verdicts

Question = dict[str, Any]
Share = str
IsolationQuestion = dict[str, Any]


def question(run: Run | str | os.PathLike[str]) -> Question:
    """What the judges of shares must know of a run: its data set, how it writes.

    ``question["final_reads_from"]`` is the least ``started`` of records whose phase is
    ``final-read``; helpers for engines fill it in.

    :raises Incomparable: if the run cannot be dealt out by key; the text says why.
    """
    path = run.path if isinstance(run, Run) else run
    made: Question = json.loads(_native.question_json(path))
    return made


def isolation_question(run: Run | str | os.PathLike[str]) -> IsolationQuestion:
    """What judges of isolation must know of a run of transactions on lists or registers.

    :raises Incomparable: if the run cannot be dealt out; the text says why.
    """
    path = run.path if isinstance(run, Run) else run
    made: IsolationQuestion = json.loads(_native.isolation_question_json(path))
    return made


class Judge:
    """Judges a share of a run's records; all records of a key must come to the same judge."""

    def __init__(self, question: Mapping[str, Any]) -> None:
        self._native = _native.Judge(json.dumps(question))

    def push(self, records: object) -> int:
        """Adds records: any source of an Arrow stream or array with the columns of a history.

        Whole numbers may be of any width or ``decimal(20, 0)``; words may be texts, dictionaries or
        codes. Returns how many they were.

        :raises WrongColumns: if a column is missing or cannot be what its name says.
        """
        return self._native.push(records)

    def finish(self) -> Share:
        """The verdicts on the share, as a text for :func:`merge`."""
        return self._native.finish()


def merge(shares: Iterable[Share], question: Mapping[str, Any]) -> Verdicts:
    """Sums up the verdicts of shares that have no key in common and together all records."""
    whole = _native.merge_json(json.dumps(question), list(shares))
    return Verdicts(json.loads(whole))
