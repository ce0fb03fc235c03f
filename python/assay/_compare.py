"""Two set-ups side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import _text
from ._native import compare_json, find
from ._run import Group, Run


@dataclass(frozen=True)
class Change:
    """One figure in two set-ups; ``details`` is its object in ``assay compare --format json``."""

    figure: str
    """``throughput``, ``response p99``, ``read service p50``, …"""
    finding: str
    """``higher``, ``lower``, ``same``, ``open`` (not decided) or ``withdrawn``."""
    details: dict[str, Any]


class Comparison:
    """The object of ``assay compare --format json``, with its figures at hand."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        """The object of ``assay compare --format json``."""

    @property
    def changes(self) -> list[Change]:
        """The figures, in the order of the report."""
        return [
            Change(row["figure"], row["finding"], row) for row in self.data["figures"]
        ]

    @property
    def differences(self) -> list[dict[str, Any]]:
        """What else differs between the two: load, store, machine, version."""
        found: list[dict[str, Any]] = self.data["differences"]
        return found

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """The conditions of ``fail_on``, each with whether it is met."""
        found: list[dict[str, Any]] = self.data["conditions"]
        return found

    def __repr__(self) -> str:
        lines = (f"  {one.figure}: {one.finding}" for one in self.changes)
        names = f"{self.data['new']['name']} compared with {self.data['base']['name']}"
        return "\n".join([names, *lines])

    def _repr_html_(self) -> str:
        header = ("figure", "base", "new", "change", "finding")
        rows = [_row(change) for change in self.changes]
        names = f"{self.data['new']['name']} compared with {self.data['base']['name']}"
        return _text.table(names, header, rows)


def _row(change: Change) -> tuple[str, ...]:
    details = change.details

    def median(side: str) -> str:
        spread = details[side]
        value = None if spread is None else spread["median"]
        if value is None:
            return "–"
        is_latency = "response" in change.figure or "service" in change.figure
        return _text.duration(value) if is_latency else f"{value:,.6g}"

    effect = details["effect"]
    return (
        change.figure,
        median("base"),
        median("new"),
        "–" if effect is None else f"{effect:.4g}",
        change.finding,
    )


def compare(
    base: Run | Group | str | os.PathLike[str],
    new: Run | Group | str | os.PathLike[str],
    *,
    fail_on: Iterable[str] | str = (),
    confidence: float | None = None,
    minimum: float | None = None,
    force: bool = False,
    runs_dir: str | os.PathLike[str] = "runs",
) -> Comparison:
    """Compares ``new`` with ``base``: runs, run directories, or groups of repeated runs.

    :param fail_on: conditions such as ``"p99>+10%"``, whose outcomes are in ``conditions``.
    :param confidence: of the verdict as a whole, a share; usually 0.99.
    :param minimum: the smallest relative change that counts, a share; usually 0.03.
    :param force: judge conditions although the two are not like for like.
    :raises Incomparable: if they share a run, or have nothing in common to compare.
    """
    stated = [fail_on] if isinstance(fail_on, str) else list(fail_on)
    sides = [_named(side, runs_dir) for side in (base, new)]
    text = compare_json(sides[0], sides[1], stated, confidence, minimum, force)
    return Comparison(json.loads(text))


def _named(
    side: Run | Group | str | os.PathLike[str], runs_dir: str | os.PathLike[str]
) -> tuple[str, os.PathLike[str]]:
    if isinstance(side, (Run, Group)):
        return os.fspath(side.path), side.path
    name = os.fspath(side)
    return name, find(name, runs_dir, True)
