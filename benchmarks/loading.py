"""How long it takes to load a humanoid, beside the peers' own loaders: `make bench` prints this.

URDF against Pinocchio (`buildModelFromUrdf`: kinematics and inertias, no geometry; so without and with qdot's shapes;
and with its geometry too, for which it reads all meshes),
MJCF against MuJoCo (`MjModel.from_xml_path`: qdot's loader runs MuJoCo's compiler and translates what it gives).
Milliseconds of the processor, so that other programs have no part in them; the best of many rounds in which both take
turns. Files are in the system's cache, meshes of URDF files are not read by either.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.robots import in_wheels  # noqa: E402

ROUNDS = 100


def taking_turns(*calls: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each call, the best of all rounds."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.process_time()
            call()
            best[k] = min(best[k], (time.process_time() - start) * 1e3)
    return best


def row(name: str, nv: int, ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS) -> None:
    ours(), theirs()
    mine, other = taking_turns(ours, theirs, rounds=rounds)
    print(f"{name:>34} {nv:5} {mine:9.2f} {other:9.2f} {mine / other:8.2f}×", flush=True)


def with_geometry(path: str, base: pin.JointModel) -> tuple[object, ...]:
    """What of Pinocchio's gives the shapes too; it reads their meshes, which qdot leaves until they are needed."""
    model = pin.buildModelFromUrdf(path, base)
    kinds = pin.GeometryType.COLLISION, pin.GeometryType.VISUAL
    folder = path.partition("/example-robot-data/")[0]
    return model, *(pin.buildGeomFromUrdf(model, path, kind, None, [folder]) for kind in kinds)


def main() -> None:
    print(f"{'file':>34} {'nv':>5} {'qdot ms':>9} {'peer ms':>9} {'ratio':>9}")
    talos = "talos_data/robots/talos_reduced.urdf", "talos_data/robots/talos_full_v2.urdf"
    for robot, shapes in itertools.product(talos, (False, True)):
        urdf = in_wheels(f"share/example-robot-data/robots/{robot}")
        if urdf is None:
            print(f"left out: {robot} is not there: pip install example-robot-data", file=sys.stderr)
            continue
        path, base = str(urdf), pin.JointModelFreeFlyer()
        row(
            urdf.name if shapes else f"{urdf.name}, no shapes",
            qdot.load(path, base="free").nv,
            lambda path=path, shapes=shapes: qdot.load(path, base="free", shapes=shapes),
            lambda path=path, base=base: pin.buildModelFromUrdf(path, base),
        )
        if shapes:
            row(
                f"{urdf.name}, geometry",
                qdot.load(path, base="free").nv,
                lambda path=path: qdot.load(path, base="free"),
                lambda path=path, base=base: with_geometry(path, base),
                rounds=5,
            )
    found = find_spec("dm_control")
    if found is None or not found.submodule_search_locations:
        print("left out: MJCF, dm_control is not there: pip install dm_control", file=sys.stderr)
        return
    for name in (
        "suite/humanoid.xml",
        "suite/humanoid_CMU.xml",
        "locomotion/walkers/assets/humanoid_CMU_V2020.xml",  # has no textures, which MuJoCo spends its time on
    ):
        path = str(Path(found.submodule_search_locations[0]) / name)
        row(
            Path(name).name,
            qdot.load(path).nv,
            lambda path=path: qdot.load(path),
            lambda path=path: mujoco.MjModel.from_xml_path(path),
        )


if __name__ == "__main__":
    main()
