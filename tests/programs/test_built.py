"""What is kept between starts: found again for the same text, model and options, and for nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qdot
from qdot.compiler.nodes import TooLarge
from qdot.joints import Revolute
from qdot.model.library import random_state, random_tree, seven_joint_arm
from qdot.programs import built
from qdot.programs.compiled import Compiled
from qdot.programs.traced import Request


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QDOT_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the texts that are traced from now on."""
    found: list[str] = []
    traced = built.traced

    def counted(request: Request) -> Any:
        found.append(request.name)
        return traced(request)

    monkeypatch.setattr(built, "traced", counted)
    return found


def test_found_again_without_tracing(traces: list[str]) -> None:
    model = random_tree(3, 5)
    state = [np.array(x) for x in zip(*(random_state(model, s) for s in range(9)), strict=True)]
    first = qdot.compile(qdot.inverse_dynamics, model)
    expected = first(*state)
    assert traces == ["inverse_dynamics"]
    for again in (qdot.compile(qdot.inverse_dynamics, model), qdot.compile(qdot.inverse_dynamics, random_tree(3, 5))):
        assert traces == ["inverse_dynamics"]
        np.testing.assert_array_equal(again(*state), expected)
        assert (again.inputs, again.outputs, again.operations) == (first.inputs, first.outputs, first.operations)
    assert again.program == first.program  # traced when somebody looks
    assert len(traces) == 3


@pytest.mark.parametrize("packed", [False, True])
def test_results_of_every_form_come_back(packed: bool, traces: list[str]) -> None:
    model = random_tree(2, 4, ["revolute", "spherical"])
    q, v, a = (np.array(x) for x in random_state(model, 0))
    makers = [
        lambda: qdot.compile(qdot.inverse_dynamics_derivatives, model, packed=packed),
        lambda: qdot.compile(qdot.mass_matrix, model, packed=packed),
        lambda: qdot.compile(qdot.energy, model, packed=packed),
    ]
    for make, args in zip(makers, [(q, v, a), (q,), (q, v)], strict=True):
        first, again = make(), make()
        x, y = first.unpacked(first(*args)), again.unpacked(again(*args))
        assert type(x) is type(y)
        np.testing.assert_array_equal(x, y)
    assert len(traces) == 3


def frames_of(model: qdot.Model) -> str:
    return list(model.frames)[-1]


def test_anything_else_is_built_anew(traces: list[str], folder: Path) -> None:
    model, x = seven_joint_arm(), frames_of(seven_joint_arm())
    heavier = random_tree(1, 3, ["revolute"])
    ways = [
        lambda: qdot.compile(qdot.jacobian, model, frame=x),
        lambda: qdot.compile(qdot.jacobian, model, frame=x, dtype="float32"),
        lambda: qdot.compile(qdot.jacobian, model, frame=next(iter(model.frames))),
        lambda: qdot.compile(qdot.jacobian, model, frame=x, packed=True),
        lambda: qdot.compile(qdot.jacobian, heavier, frame=frames_of(heavier)),
        lambda: qdot.compile(qdot.gravity_forces, model),
        lambda: qdot.compile(qdot.gravity_forces, model, parameters=["gravity"]),
        lambda: qdot.compile(qdot.inverse_dynamics, model),
        lambda: qdot.compile(qdot.inverse_dynamics, model, wrenches=[x]),
    ]
    for way in ways:
        way()
    assert len(traces) == len(ways) == len(list(folder.iterdir()))


def test_a_change_of_the_sources_is_noticed(traces: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_tree(0, 2, ["revolute"])
    qdot.compile(qdot.mass_matrix, model)
    monkeypatch.setattr(built, "fingerprint", lambda: "other sources")
    qdot.compile(qdot.mass_matrix, model)
    assert len(traces) == 2


def test_functions_of_users_are_traced_each_time(traces: list[str], folder: Path) -> None:
    """They may have changed: here by what they close over."""
    model = random_tree(0, 2, ["revolute"])
    q = np.array(random_state(model, 0)[0])

    def scaled(k: float) -> Any:
        def force(model: qdot.Model, q: Any) -> Any:
            return [k * x for x in q]

        return force

    for k in (2.0, 3.0, 2.0):
        np.testing.assert_array_equal(qdot.compile(scaled(k), model)(q), k * q)
    assert traces == ["force"] * 3
    assert len([f for f in folder.iterdir() if f.name.startswith("force")]) == 2  # machine code by program


class Sticky(Revolute):
    """A joint of a user's: its code is not known to qdot's fingerprint."""


def test_models_with_joints_of_users_are_traced_each_time(traces: list[str]) -> None:
    world = qdot.Mechanism("rig")
    world.add("link", Sticky("y"), qdot.spatial.Inertia.about_com(1.0, (0.1, 0.0, 0.0), (1.0, 1.0, 1.0)))
    model = qdot.assemble(world)
    for _ in range(2):
        qdot.compile(qdot.mass_matrix, model)
    assert len(traces) == 2


def test_what_is_too_large_is_remembered(traces: list[str]) -> None:
    request = Request(qdot.algorithms.rnea.inverse_dynamics, random_tree(0, 4), limit=50)
    for _ in range(2):
        with pytest.raises(TooLarge, match="more than 50 nodes"):
            Compiled(request)
    assert len(traces) == 1


def test_long_compiling_is_announced(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built, "SECONDS_PER_INSTRUCTION", 1.0)
    model = random_tree(0, 2, ["revolute"])
    for _ in range(2):
        qdot.compile(qdot.mass_matrix, model)
    told = capsys.readouterr().err
    assert told.startswith("qdot: compiling mass_matrix, some ")
    assert told.count("\n") == 1
