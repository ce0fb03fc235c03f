"""Assay: measures data stores, and reads what was measured.

A run directory holds one record of every operation. :func:`open` reads one that is there,
:func:`bench` and :func:`run` make a new one with the command that this package brings along;
:func:`compare` puts two side by side. All values equal those of the command line on the same
directory. Times are whole nanoseconds unless a name ends otherwise; rates are per second.
"""

from ._command import (
    CommandFailed,
    InvalidCommand,
    NoHallmark,
    Unreachable,
    bench,
    binary,
    load,
    repeat,
    run,
)
from ._compare import Change, Comparison, compare
from ._native import (
    AssayError,
    Damaged,
    Incomparable,
    Latencies,
    NewerVersion,
    NotARun,
    WrongColumns,
    __version__,
)
from ._run import Check, Finding, Group, Hallmark, Percentile, Run, Verdicts, open
from ._shares import Judge, Question, Share, isolation_question, merge, question

__all__ = [
    "AssayError",
    "Change",
    "Check",
    "CommandFailed",
    "Comparison",
    "Damaged",
    "Finding",
    "Group",
    "Hallmark",
    "Incomparable",
    "InvalidCommand",
    "Judge",
    "Latencies",
    "NewerVersion",
    "NoHallmark",
    "NotARun",
    "Percentile",
    "Question",
    "Run",
    "Share",
    "Unreachable",
    "Verdicts",
    "WrongColumns",
    "__version__",
    "bench",
    "binary",
    "compare",
    "isolation_question",
    "load",
    "merge",
    "open",
    "question",
    "repeat",
    "run",
]

# The names that users import, in tracebacks too.
for _name in ("CommandFailed", "InvalidCommand", "NoHallmark", "Unreachable"):
    globals()[_name].__module__ = __name__
del _name
