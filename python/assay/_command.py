"""The command line that this package brings along, and runs made with it."""

from __future__ import annotations

import os
import pty
import re
import secrets
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, Literal

from ._native import AssayError
from ._run import Group, Run, open

Progress = Literal["auto", "notebook", "text", "none"]
Setting = str | int | float | bool | Iterable[str] | None

_NO_HALLMARK, _USAGE, _UNREACHABLE, _ACTION_FAILED = 5, 2, 4, 7

_KEPT_LINES = 200
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class CommandFailed(AssayError):
    """The command ended with another code than 0."""

    def __init__(self, code: int, stderr: str, path: Path) -> None:
        super().__init__(_reason(stderr) or f"assay ended with code {code}")
        self.code = code
        """The exit code, as ``assay help`` explains it; below 0 the signal that ended it."""
        self.stderr = stderr
        """Its last lines on standard error."""
        self.path = path
        """The run directory, which may hold what there is of the run."""


def _reason(stderr: str) -> str:
    """The error in what was written to standard error, without progress and what is before."""
    lines = stderr.strip().splitlines()
    starts = [place for place, line in enumerate(lines) if line.startswith("error: ")]
    return "\n".join(lines[starts[0] :] if starts else lines).removeprefix("error: ")


class InvalidCommand(CommandFailed):
    """A setting, a file or a workload is invalid (code 2)."""


class Unreachable(CommandFailed):
    """The store cannot be reached, or does not let us (code 4)."""


class NoHallmark(CommandFailed):
    """The run ended, a hallmark was required and there is none (code 5)."""


_FAILURES = {_USAGE: InvalidCommand, _UNREACHABLE: Unreachable, _NO_HALLMARK: NoHallmark}


def binary() -> Path:
    """The program ``assay``: that of the variable ``ASSAY_BINARY``, else the one of this package.

    :raises AssayError: if it is not there; the text says where it was looked for.
    """
    chosen = os.environ.get("ASSAY_BINARY")
    if chosen:
        return Path(chosen)
    folders = [Path(sysconfig.get_path("scripts"))]
    user = sysconfig.get_preferred_scheme("user")
    folders.append(Path(sysconfig.get_path("scripts", scheme=user)))
    # `pip install --target DIR` puts programs beside the packages.
    folders.append(Path(__file__).resolve().parent.parent / "bin")
    for folder in folders:
        if (folder / "assay").is_file():
            return folder / "assay"
    places = ", ".join(str(folder) for folder in folders)
    raise AssayError(
        f"the program assay is in none of {places}; install the package anew, or name it with "
        "the variable ASSAY_BINARY"
    )


def bench(spec: str = "ycsb-a", /, target: str | None = None, **settings: Any) -> Run:
    """As ``assay bench``: loads the data set, runs the workload, returns the run.

    :param spec: a built-in workload, a TOML spec, a YCSB properties file or a trace.
    :param target: the store's URL, such as ``redis://127.0.0.1:6379``.
    :param settings: every option of the command, with ``_`` for ``-``: ``rate="20k/s"``,
        ``duration="30s"``, ``closed=16``, ``require_hallmark=True``, ``set=["dataset.records=1M"]``;
        see ``assay bench --help``. Besides: ``runs_dir`` or ``run_dir`` say where it goes,
        ``progress`` is ``auto``, ``notebook``, ``text`` or ``none``.
    :raises InvalidCommand: if a setting is invalid.
    :raises Unreachable: if the store cannot be reached.
    :raises CommandFailed: if it ended otherwise than well.

    An interrupt (the stop button of a notebook) ends the load early: what there is is sealed into
    the run directory before ``KeyboardInterrupt`` goes on.
    """
    return _make("bench", spec, target, settings)


def run(spec: str = "ycsb-a", /, target: str | None = None, **settings: Any) -> Run:
    """As ``assay run``: runs the workload on a store that is loaded; otherwise as :func:`bench`."""
    return _make("run", spec, target, settings)


def load(spec: str = "ycsb-a", /, target: str | None = None, **settings: Any) -> Run:
    """As ``assay load``: loads the data set; otherwise as :func:`bench`."""
    return _make("load", spec, target, settings)


def repeat(times: int, spec: str = "ycsb-a", /, target: str | None = None, **settings: Any) -> Group:
    """As ``assay bench --repeat``: so many runs of one set-up, each afresh, for :func:`compare`.

    Otherwise as :func:`bench`.
    """
    return Group(_execute_verb("bench", spec, target, {**settings, "repeat": times}))


def _make(verb: str, spec: str, target: str | None, settings: dict[str, Any]) -> Run:
    if "repeat" in settings:
        raise ValueError("several runs are a group: call assay.repeat(times, spec, …)")
    return open(_execute_verb(verb, spec, target, settings))


def _execute_verb(verb: str, spec: str, target: str | None, settings: dict[str, Any]) -> Path:
    """Executes a verb; gives the run directory."""
    progress = _progress(settings.pop("progress", "auto"))
    runs_dir = Path(settings.pop("runs_dir", "runs"))
    path = Path(settings.pop("run_dir", None) or runs_dir / _name(spec))
    words = [str(binary()), verb, spec]
    if target is not None:
        words += ["--target", target]
    words += ["--run-dir", str(path), "--live", "never"]
    words += [word for name, value in settings.items() for word in _option(name, value)]
    if progress == "none":
        words.append("--quiet")
    code, stderr = _execute(words, _display(progress))
    if code == 0 or code == _ACTION_FAILED:
        return path
    raise _FAILURES.get(code, CommandFailed)(code, stderr, path)


def _name(spec: str) -> str:
    moment = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
    letters = re.sub(r"[^A-Za-z0-9]+", "-", Path(spec).stem or spec).strip("-")
    return f"{moment}-{letters}-{secrets.token_hex(2)}"


def _option(name: str, value: Setting) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, (str, int, float)):
        # With "=", a value that begins with "-" is none of the command's own flags.
        return [f"{flag}={value}"]
    if isinstance(value, Iterable):
        return [f"{flag}={one}" for one in value]
    raise TypeError(f"{name} is {value!r}; give a text, a number, True or a list of texts")


def _progress(wanted: str) -> str:
    if wanted not in ("auto", "notebook", "text", "none"):
        raise ValueError(f'progress is {wanted!r}; there are "auto", "notebook", "text", "none"')
    if wanted != "auto":
        return wanted
    return "notebook" if _is_notebook() else "text"


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _display(progress: str) -> Callable[[str, bool], None]:
    """What shows a line of progress; the second argument says whether the line stays."""
    if progress == "notebook":
        return _notebook()
    if progress == "none":
        return lambda text, stays: None
    is_terminal = sys.stderr.isatty()

    def show(text: str, stays: bool) -> None:
        if stays:
            sys.stderr.write(("\r\x1b[K" if is_terminal else "") + text + "\n")
        elif is_terminal:
            sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()

    return show


def _notebook() -> Callable[[str, bool], None]:
    import html
    import importlib

    notebook: Any = importlib.import_module("IPython.display")
    handle = notebook.display(notebook.HTML("<pre></pre>"), display_id=True)

    def show(text: str, stays: bool) -> None:
        handle.update(notebook.HTML(f"<pre>{html.escape(text)}</pre>"))

    return show


def _execute(words: list[str], show: Callable[[str, bool], None]) -> tuple[int, str]:
    """Runs the command; gives its code and its last lines on standard error.

    Standard error is a terminal of its own, so that progress is renewed every second.
    """
    ours, theirs = pty.openpty()
    result = tempfile.TemporaryFile()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=result,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "TERM": "xterm"},
        )
    except OSError as error:
        os.close(ours)
        raise AssayError(f"cannot start {words[0]}: {error}") from error
    finally:
        os.close(theirs)
        result.close()
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            _read(terminal, kept, show)
            code = process.wait()
        except BaseException:
            # It seals what there is; a second signal would not let it.
            process.send_signal(signal.SIGINT)
            _read(terminal, kept, show)
            process.wait()
            raise
    return code, "\n".join(kept)


def _read(terminal: IO[bytes], kept: deque[str], show: Callable[[str, bool], None]) -> None:
    """Reads lines until the other side is closed."""
    pending = b""
    while True:
        try:
            read = terminal.read(4096)
        except OSError:
            # So Linux says that nobody writes to a terminal any more.
            read = b""
        pending += read or b""
        *lines, pending = re.split(rb"\r?\n", pending)
        for line in lines:
            text = _plain(line)
            if text:
                kept.append(text)
                show(text, True)
        if not read:
            rest = _plain(pending)
            if rest:
                kept.append(rest)
            return
        if pending:
            show(_plain(pending), False)


def _plain(line: bytes) -> str:
    """The line as a terminal shows it in the end: what follows the last carriage return."""
    text = _ESCAPE.sub("", line.decode("utf-8", "replace")).rstrip()
    return text.rsplit("\r", 1)[-1].strip()
