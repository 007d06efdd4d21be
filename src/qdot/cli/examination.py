"""Loading files one by one in a process of their own: a file that crashes or never ends takes nothing with it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from threading import current_thread, main_thread
from time import perf_counter
from typing import Any

import qdot
from qdot.cli.files import format_of
from qdot.cli.wording import spoken
from qdot.errors import QdotError

OUTCOMES = LOADED, REFUSED, CRASHED, ENDLESS = "loaded", "refused", "crashed", "endless"


@dataclass(frozen=True)
class Finding:
    """What became of a file, in plain values; its report as a list of items."""

    file: str
    outcome: str
    reason: str = ""
    format: str = ""
    seconds: float = 0.0
    name: str = ""
    bodies: int = 0
    nq: int = 0
    nv: int = 0
    mass: float = 0.0
    report: list[dict[str, Any]] = field(default_factory=list)


class Examiner:
    """Loads files in a second process, which is replaced when it dies or takes longer than `timeout` seconds."""

    def __init__(self, options: dict[str, Any], timeout: float) -> None:
        self._options, self._timeout = options, timeout
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Any = None

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def examine(self, file: Path) -> Finding:
        """What becomes of a file."""
        if self._process is None:
            self._start()
        start = perf_counter()
        try:
            self._connection.send((str(file), self._options))
            if self._connection.poll(self._timeout):
                finding: Finding = self._connection.recv()
                return finding
            outcome, reason = ENDLESS, f"not done after {self._timeout:g} s"
        except (EOFError, OSError):
            self._process.join()
            outcome, reason = CRASHED, f"the process that loaded it ended with code {self._process.exitcode}"
        self._stop()
        return Finding(str(file), outcome, reason, format_of(file) or "", perf_counter() - start)

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        with _uninterrupted():
            self._process.start()
        theirs.close()  # so that its end is noticed here
        self._connection.recv()  # it has started: the time of the first file begins now

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes started here do not hear Ctrl-C: we do, and end them."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal(SIGINT, SIG_IGN)
    try:
        yield
    finally:
        signal(SIGINT, before)


def _serve(connection: Connection) -> None:
    """The second process: a file and options in, a finding out."""
    connection.send("ready")
    with suppress(EOFError):
        while True:
            connection.send(finding_of(*connection.recv()))


def finding_of(file: str, options: dict[str, Any]) -> Finding:
    """What becomes of a file, loaded here."""
    start = perf_counter()
    kind = format_of(Path(file)) or ""
    if kind != "xacro":
        options = {**options, "xacro": None}  # the others take none
    try:
        model = qdot.load(file, **options)
    except QdotError as error:
        return Finding(file, REFUSED, spoken(str(error)), kind, perf_counter() - start)
    except Exception as error:  # a defect of the loader: it must be seen, and not stop the others
        reason = f"an error in qdot itself, please report it: {type(error).__name__}: {error}"
        return Finding(file, CRASHED, reason, kind, perf_counter() - start)
    items = [{**asdict(item), "severity": item.severity.name} for item in model.report]
    mass = float(sum(body.inertia.mass for body in model.bodies))
    return Finding(
        file, LOADED, "", kind, perf_counter() - start, model.name, len(model.bodies), model.nq, model.nv, mass, items
    )
