"""Drivers for Assay in Python: a store becomes measurable as `exec:./driver.py`.

A driver is a class with a method for each operation that its store can do, and ends with
`serve(ItsName)`. Assay starts one process per worker, and each process makes one object.
The protocol below it is described in docs/exec.md of Assay. Needs Python 3.8 and nothing else.
"""

import json
import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

__all__ = ["Driver", "Refused", "Unknown", "serve"]
__version__ = "1.0.0"

OPERATIONS = ("read", "update", "insert", "scan", "delete", "flush")
REASONS = (
    "timeout", "connection-lost", "unreachable", "not-permitted", "full", "read-only", "busy",
    "conflict", "exists", "unsupported", "wrong-type", "malformed", "garbled", "store-error",
)


class Refused(Exception):
    """The operation certainly did not happen; `reason` is one of REASONS."""

    def __init__(self, reason="store-error", text=""):
        super().__init__(text or reason)
        if reason not in REASONS:
            raise ValueError(f"there is no reason {reason!r}; there are {', '.join(REASONS)}")
        self.reason, self.text = reason, text


class Unknown(Refused):
    """Whether the operation happened is unknown, as after a lost connection."""


class Driver:
    """What a driver declares, and the methods that it may have.

    Keys and values are `bytes`, names of tables and fields are `str`. Methods that are not
    overridden are operations that the store cannot do.
    """

    name = "store"  # small letters, digits, hyphens
    version = ""  # of the store, or of this driver
    in_flight = 1  # requests that Assay sends before the first of them is answered
    threads = 1  # threads that call the methods; 1: one after another, in order
    workers = None  # processes at most; 1 for a store that lives in the process itself
    persistent = True  # whether data outlive the process
    keeps = True  # whether it keeps anything at all
    updates = "fields"  # "record": an update loses the fields that it does not name
    scan_order = "own"  # "key": scans go by the bytes of keys
    hidden_retries = None  # a sentence, if the store's client tries again by itself
    durability = None  # a sentence: what an acknowledged write survives

    def open(self, options, worker):
        """Connects; `options` has those of the URL that begin with `p.`, as texts."""

    def settings(self):
        """Settings that decide what the figures mean: (name, value, meaning) of each."""
        return []

    def prepare(self, tables, records):
        """Makes the store ready for `tables`, keeping what is there.

        Each of them has `name`, `fields` (names), `ordered` (whether scans must go by keys).
        """

    def clear(self):
        """Removes everything that was ever written through this driver."""
        raise Refused("unsupported", "the driver has no method clear")

    def commit(self):
        """Called before answers leave, for one request or a batch: makes them true."""

    def close(self):
        """Called at the end."""

    # def read(self, table, key, fields): a dict of fields (all if `fields` is None), or None
    # def insert(self, table, key, values): False if the store says that nothing was written
    # def update(self, table, key, values): False if the record is not there
    # def delete(self, table, key): False if the record was not there
    # def scan(self, table, key, limit, fields): a list of dicts, from `key` on
    # def flush(self): makes what was acknowledged durable


def serve(driver_class):
    """Answers Assay's requests until its end of the pipe is closed."""
    # What somebody prints must not become a line of the protocol.
    output, sys.stdout = os.dup(1), sys.stderr
    os.dup2(2, 1)
    lines = _lines(0)
    first, *others = next(lines, [b"null"])
    greeting = json.loads(first)
    if greeting is None:
        return
    driver = driver_class()
    try:
        driver.open(greeting["options"], greeting["worker"])
        hello = _hello(driver)
    except Refused as refusal:
        _write(output, [_json({"refused": refusal.reason, "text": refusal.text})])
        return
    _write(output, [_json(hello)])
    answer = _answer_in_turn if driver.threads == 1 else _Threads(driver).answer
    try:
        for batch in chain([others] if others else [], lines):
            answer(driver, batch, output)
    except BrokenPipeError:
        pass
    finally:
        driver.close()


def _hello(driver):
    if driver.name == Driver.name:
        raise TypeError("a driver has a name of its own")
    return {
        "assay": 1,
        "name": driver.name,
        "version": driver.version,
        "operations": [name for name in OPERATIONS if hasattr(driver, name)],
        "in_flight": max(driver.in_flight, driver.threads),
        "workers": driver.workers,
        "persistent": driver.persistent,
        "keeps": driver.keeps,
        "updates": driver.updates,
        "scan": driver.scan_order,
        "hidden_retries": driver.hidden_retries,
        "durability": driver.durability,
        "settings": [dict(zip(("name", "value", "meaning"), one)) for one in driver.settings()],
    }


def _lines(file):
    """Whole lines from `file`, in batches of those that have come together."""
    rest = b""
    while True:
        some = os.read(file, 1 << 18)
        if not some:
            return
        *lines, rest = (rest + some).split(b"\n")
        if lines:
            yield lines


def _answer_in_turn(driver, batch, output):
    answers = [_answer(driver, json.loads(line)) for line in batch]
    try:
        driver.commit()
    except Exception as error:
        answers = [_failure(answer["id"], error) for answer in answers]
    _write(output, [_json(answer) for answer in answers])


class _Threads:
    """Threads that answer requests in any order."""

    def __init__(self, driver):
        self.pool, self.lock = ThreadPoolExecutor(driver.threads), threading.Lock()

    def answer(self, driver, batch, output):
        for line in batch:
            self.pool.submit(self.one, driver, line, output)

    def one(self, driver, line, output):
        answer = _answer(driver, json.loads(line))
        try:
            driver.commit()
        except Exception as error:
            answer = _failure(answer["id"], error)
        with self.lock:
            try:
                _write(output, [_json(answer)])
            except BrokenPipeError:
                pass


def _answer(driver, request):
    try:
        return _CALLS[request["op"]](driver, request)
    except Exception as error:
        return _failure(request["id"], error)


def _failure(id, error):
    if isinstance(error, Refused):
        outcome = "unknown" if isinstance(error, Unknown) else "refused"
        return {"id": id, "outcome": outcome, "reason": error.reason, "text": error.text}
    traceback.print_exception(type(error), error, error.__traceback__)
    return {"id": id, "outcome": "unknown", "reason": "store-error", "text": repr(error)}


def _read(driver, request):
    row = driver.read(request["table"], _bytes(request["key"]), request.get("fields"))
    if row is None:
        return {"id": request["id"], "outcome": "missing"}
    return {"id": request["id"], "outcome": "done", "rows": [_row(row)]}


def _scan(driver, request):
    key, limit, fields = _bytes(request["key"]), request["limit"], request.get("fields")
    rows = driver.scan(request["table"], key, limit, fields)
    return {"id": request["id"], "outcome": "done", "rows": [_row(row) for row in rows]}


def _write_with(name):
    def call(driver, request):
        values = {field: _bytes(value) for field, value in request["values"].items()}
        done = getattr(driver, name)(request["table"], _bytes(request["key"]), values)
        return {"id": request["id"], "outcome": "missing" if done is False else "done"}

    return call


def _delete(driver, request):
    done = driver.delete(request["table"], _bytes(request["key"]))
    return {"id": request["id"], "outcome": "missing" if done is False else "done"}


def _prepare(driver, request):
    driver.prepare(request["tables"], request["records"])
    return {"id": request["id"], "outcome": "done"}


def _plain(name):
    def call(driver, request):
        getattr(driver, name)()
        return {"id": request["id"], "outcome": "done"}

    return call


_CALLS = {
    "read": _read,
    "scan": _scan,
    "update": _write_with("update"),
    "insert": _write_with("insert"),
    "delete": _delete,
    "prepare": _prepare,
    "clear": _plain("clear"),
    "flush": _plain("flush"),
}


def _bytes(text):
    return text.encode("latin-1")


def _row(row):
    return {field: bytes(value).decode("latin-1") for field, value in row.items()}


def _json(value):
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _write(file, lines):
    rest = memoryview(b"".join(lines))
    while rest:
        rest = rest[os.write(file, rest) :]
