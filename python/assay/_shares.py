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
from ._native import AssayError
from ._run import Run, Verdicts

Question = dict[str, Any]
Share = dict[str, Any]
IsolationQuestion = dict[str, Any]

_ORDERS = (
    "single-writer", "lists", "told-by-store", "read-before-write", "real-time", "not-needed",
)
_ACROSS_RECORDS = ("monotonic-writes", "writes-follow-reads")
_WITNESSES = 16
_LOST_KEPT = 1000
_GAP_NS = 1_000_000_000


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
        """The verdicts on the share, for :func:`merge`."""
        share: Share = json.loads(self._native.finish())
        return share


def merge(shares: Iterable[Share | str], question: Mapping[str, Any]) -> Verdicts:
    """Sums up the verdicts of shares that have no key in common and together all records."""
    given = [json.loads(one) if isinstance(one, str) else one for one in shares]
    if not given:
        raise AssayError("there is no share to merge")
    checks = [one["check"] for one in given]
    records = sum(one["records"] for one in given)
    judged = sum(one["judged"] for one in given)
    unknown = sum(one["unknown"] for one in given)
    limitation = _limitation(given, question, records)
    merged = {
        "schema": checks[0]["schema"],
        "source": question["source"],
        "title": question["title"],
        "operations": sum(one["operations"] for one in checks),
        "record_share": 1.0,
        "left_out": _sum_values(one["left_out"] for one in checks),
        "findings": [
            _finding(findings, judged, unknown, limitation)
            for findings in zip(*(one["findings"] for one in checks))
            if findings[0]["quality"] not in _ACROSS_RECORDS
        ],
        "lost_writes": _lost_writes([one["lost_writes"] for one in checks]),
        "gamma_ns": max(one["gamma_ns"] for one in checks),
        "delta_ns": max(one["delta_ns"] for one in checks),
        "staleness": _staleness([one["staleness"] for one in checks]),
    }
    return Verdicts(merged)


def _limitation(given: list[Share], question: Mapping[str, Any], records: int) -> str | None:
    """Why nothing can be judged, if so; in the order of the command line."""
    if records > question["records"]:
        raise AssayError(
            f"the shares have {records} records, the run has {question['records']}: "
            "a key was given to two judges, or records were given twice"
        )
    if records < question["records"]:
        return "incomplete"
    if not any(one["with_version"] for one in given):
        return "no-versions"
    if any(one["unversioned_writes"] for one in given):
        return "no-versions"
    return "partial-writes" if question["is_partial"] else None


def _finding(
    findings: tuple[dict[str, Any], ...], judged: int, unknown: int, limitation: str | None
) -> dict[str, Any]:
    """The verdicts of all shares on one quality as one."""
    stated = [one for one in findings if one["power"] is not None]
    orders = [_ORDERS.index(one["version_order"]) for one in stated or findings]
    quality, order = findings[0]["quality"], _ORDERS[max(orders)]
    opportunities = sum(one["power"]["opportunities"] for one in stated)
    power = {
        "opportunities": opportunities,
        "judged": judged,
        "unknown": unknown,
        "bound": min(3.0 / opportunities, 1.0) if opportunities else 1.0,
    }
    merged: dict[str, Any] = {"quality": quality, "version_order": order, "power": power}
    violated = [one for one in findings if one["verdict"] == "violated"]
    if limitation is not None:
        return {**merged, "verdict": "not-assessable", "power": None, "reason": limitation}
    if violated:
        witnesses = [witness for one in violated for witness in one["witnesses"]]
        witnesses.sort(key=lambda witness: -witness["margin_ns"])
        count = sum(one["violations"] for one in violated)
        merged |= {"violations": count, "witnesses": witnesses[:_WITNESSES]}
        return {**merged, "verdict": "violated"}
    if opportunities:
        return {**merged, "verdict": "none-found"}
    reasons = {one["reason"] for one in findings if "reason" in one} - {"nothing-known"}
    reason = "no-opportunity" if "no-opportunity" in reasons else min(reasons, default="nothing-known")
    return {**merged, "verdict": "not-assessable", "power": None, "reason": reason}


def _lost_writes(lost: list[dict[str, Any]]) -> dict[str, Any]:
    first = [write for one in lost for write in one["first"]]
    first.sort(key=lambda write: (write["ended_ns"], _number(write["key"]), write["index"] or 0))
    windows: list[dict[str, Any]] = []
    for window in sorted((w for one in lost for w in one["windows"]), key=lambda w: w["first_ns"]):
        if windows and window["first_ns"] - windows[-1]["last_ns"] <= _GAP_NS:
            last = max(windows[-1]["last_ns"], window["last_ns"])
            writes = windows[-1]["writes"] + window["writes"]
            windows[-1] = {**windows[-1], "last_ns": last, "writes": writes}
        else:
            windows.append(dict(window))
    count = sum(one["count"] for one in lost)
    return {"count": count, "windows": windows, "first": first[:_LOST_KEPT]}


def _number(key: str) -> int:
    """The number of a record, which JSON has with spaces between thousands."""
    return int("".join(letter for letter in key if letter.isdigit()))


def _staleness(of: list[dict[str, Any]]) -> dict[str, Any]:
    bins: dict[tuple[int, int], dict[str, int]] = {}
    for point in (point for one in of for point in one["visibility"]):
        place = (point["from_ns"], point["until_ns"])
        known = bins.setdefault(place, {**point, "reads": 0, "visible": 0})
        known["reads"] += point["reads"]
        known["visible"] += point["visible"]
    seconds: dict[int, int] = {}
    for second, count in (pair for one in of for pair in one["stale_per_second"]):
        seconds[second] = seconds.get(second, 0) + count
    # A share without reads knows no order of versions, and says nothing of exactness.
    with_reads = [one for one in of if one["reads"]] or of
    return {
        "reads": sum(one["reads"] for one in of),
        "stale_reads": sum(one["stale_reads"] for one in of),
        "is_exact": all(one["is_exact"] for one in with_reads),
        "oldest_ns": max(one["oldest_ns"] for one in of),
        "most_behind": max(one["most_behind"] for one in of),
        "longest_window_ns": max(one["longest_window_ns"] for one in of),
        "visibility": [bins[place] for place in sorted(bins)],
        "stale_per_second": [list(pair) for pair in sorted(seconds.items())],
    }


def _sum_values(of: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in of:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total
