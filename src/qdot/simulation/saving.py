"""Runs as files: .npz, or HDF5 through h5py (the extra `qdot[hdf5]`), which loads at first use.

A file holds arrays by name and one text, "about", in JSON: the version of this format, names, units, and the model as
data. It is written aside and then moved to its place, so that a file is there in full or not at all.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.description import Item, Report, Severity
from qdot.errors import ModelError, QdotError
from qdot.model.assemble import assemble
from qdot.model.model import Model, require_model
from qdot.model.state import State
from qdot.simulation.checkpoint import Checkpoint
from qdot.simulation.events import Happened
from qdot.simulation.model_data import Unwritable, data_of, description_of
from qdot.simulation.setup_data import setup_data, setup_of, without_functions
from qdot.simulation.system import System
from qdot.simulation.trajectory import LATER, ROWS, Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

FORMAT = "qdot trajectory"
VERSION = 1
ABOUT = "about"


def save(run: Trajectory, path: str | os.PathLike[str], *, overwrite: bool = False) -> Report:
    """Write a run; the report tells whether the model is in the file."""
    file = _path(path)
    if file.exists() and not overwrite:
        raise ModelError(f"save: {str(file)!r} is there already; give another path, or overwrite=True")
    arrays, about, report = _content(run)
    write = _write_npz if file.suffix.lower() == ".npz" else _write_hdf5
    aside = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        write(aside, arrays, json.dumps(about, allow_nan=False))
        os.replace(aside, file)
    except OSError as error:
        raise ModelError(f"save: {str(file)!r} cannot be written: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)
    return report


def load(path: str | os.PathLike[str], model: Model | None = None) -> Trajectory:
    """Read a run; `model` where the file does not hold it."""
    file = _path(path)
    if not file.is_file():
        raise ModelError(f"load: there is no file {str(file)!r}")
    read = _read_npz if file.suffix.lower() == ".npz" else _read_hdf5
    try:
        arrays, text = read(file)
        about = json.loads(text)
    except QdotError:
        raise
    except (OSError, EOFError, KeyError, ValueError, TypeError, NotImplementedError, zipfile.BadZipFile) as error:
        raise _foreign(file, error) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise _foreign(file, "its format is not named")
    if about.get("version") != VERSION:
        raise ModelError(
            f"load: {str(file)!r} is of version {about.get('version')!r} of the format, and this qdot reads version "
            f"{VERSION}; read it with the qdot that wrote it ({about.get('qdot')})"
        )
    try:
        return _run(file, arrays, about, model)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, QdotError):
            raise
        raise _foreign(file, error) from error


def _path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str) or "\0" in os.fspath(path):
        raise ModelError(f"a run is kept at a path that ends in .npz or .h5, got {path!r}")
    file = Path(path)
    if file.suffix.lower() not in (".npz", ".h5", ".hdf5"):
        raise ModelError(f"{str(file)!r} does not say in which format a run is kept; let it end in .npz or .h5")
    return file


def _foreign(file: Path, reason: object) -> ModelError:
    said = str(reason) or type(reason).__name__
    return ModelError(
        f"load: {str(file)!r} is no run of qdot's, or was cut off or changed: {said}; write it again with "
        "run.save(path)"
    )


# ── what a file holds ────────────────────────────────────────────────────────────────────────────


def _content(run: Trajectory) -> tuple[Arrays, dict[str, Any], Report]:
    from qdot import __version__

    arrays: Arrays = {"time": run.time, "ended": np.asarray(run.ended)}
    arrays |= {name: getattr(run, name) for name in (*ROWS, *LATER.values())}
    about: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "qdot": __version__,
        "name": run.model.name,
        "coordinates": run.model.coordinate_names(),
        "ledger": list(run.ledger),
        "rows": list(run.row_names),
        "constraint_units": dict(run.constraint_units),
        "parameters": list(run.parameters),
        "computing": run.computing,
        "events": [[event.name, event.run, event.time] for event in run.events],
    }
    arrays |= {f"parameters/{k}": x for k, x in enumerate(run.parameters.values())}
    if run.events:
        arrays |= {f"events/{name}": np.array([getattr(e.state, name) for e in run.events]) for name in ("q", "v")}
    if run.checkpoint is not None:
        point = run.checkpoint
        about["checkpoint"] = {"start": point.start, "dt": point.dt, "integrator": point.integrator, "room": point.room}
        arrays |= {"checkpoint/count": point.count, "checkpoint/memory": point.memory}
    system = without_functions(run.system)
    if system is not None:
        about["setup"] = setup_data(system.setup)
    report = Report()
    try:
        about["model"], of_model = data_of(run.model.description)
        arrays |= {f"model/{k}": x for k, x in enumerate(of_model)}
    except Unwritable as error:
        about["model"], about["why"] = None, str(error)
        done = "the model is not in the file; give it to Trajectory.load(path, model=…)"
        report = Report((Item(Severity.NOTE, f"model {run.model.name!r}", str(error), done),))
    return arrays, about, report


def _run(file: Path, arrays: Arrays, about: Mapping[str, Any], given: Model | None) -> Trajectory:
    model = _model(file, arrays, about, given)
    for name, n in (("q", model.nq), ("v", model.nv)):
        shape, wanted = arrays[name].shape, (len(arrays["time"]), n)
        if len(shape) not in (2, 3) or shape[-2:] != wanted:
            raise ModelError(
                f"load: {str(file)!r} holds {name} of shape {shape}, which does not fit model {model.name!r}, where it "
                f"is {wanted}; give the model that the run was made with"
            )
    point = None
    if "checkpoint" in about:
        point = Checkpoint(**about["checkpoint"], count=arrays["checkpoint/count"], memory=arrays["checkpoint/memory"])
    states = [State.of(model, arrays["events/q"][k], arrays["events/v"][k]) for k in range(len(about["events"]))]
    kept = LATER | {name: name for name in ROWS}
    rows: dict[str, Any] = {field: arrays.get(name, np.empty(0)) for field, name in kept.items()}
    return Trajectory(
        model,
        arrays["time"],
        **rows,
        ledger=tuple(about["ledger"]),
        row_names=tuple(about["rows"]),
        constraint_units=dict(about["constraint_units"]),
        parameters={path: arrays[f"parameters/{k}"] for k, path in enumerate(about["parameters"])},
        system=System(model, setup_of(about["setup"])) if "setup" in about else None,
        checkpoint=point,
        computing=about["computing"],
        events=tuple(Happened(name, k, t, x) for (name, k, t), x in zip(about["events"], states, strict=True)),
        ended=arrays["ended"],
    )


def _model(file: Path, arrays: Arrays, about: Mapping[str, Any], given: Model | None) -> Model:
    if given is not None:
        require_model(given, "Trajectory.load: model")
        if given.coordinate_names() != about["coordinates"]:
            raise ModelError(
                f"load: {str(file)!r} is a run of model {about['name']!r} with coordinates "
                f"{', '.join(about['coordinates'])}; model {given.name!r} has others"
            )
        return given
    if about["model"] is None:
        raise ModelError(
            f"load: {str(file)!r} does not hold its model {about['name']!r}, since {about['why']}; give it: "
            "Trajectory.load(path, model=…)"
        )
    count = sum(name.startswith("model/") for name in arrays)
    return assemble(description_of(about["model"], [arrays[f"model/{k}"] for k in range(count)]))


# ── formats ──────────────────────────────────────────────────────────────────────────────────────


def _write_npz(path: Path, arrays: Arrays, about: str) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **arrays, **{ABOUT: np.array(about)})  # type: ignore[arg-type]


def _read_npz(path: Path) -> tuple[Arrays, str]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
        arrays = {name: content[name] for name in content.files}
    return arrays, str(arrays.pop(ABOUT)[()])


def _write_hdf5(path: Path, arrays: Arrays, about: str) -> None:
    with _h5py().File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
        file.create_dataset(ABOUT, data=about)


def _read_hdf5(path: Path) -> tuple[Arrays, str]:
    h5py = _h5py()
    arrays: Arrays = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and name != ABOUT:
            arrays[name] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(take)
        return arrays, file[ABOUT][()].decode()


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise ModelError(
            "HDF5 files need h5py; install it with: pip install 'qdot[hdf5]', or write a .npz file"
        ) from None
    return h5py
