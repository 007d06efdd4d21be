"""Which constants of a model become symbols, what they are called, and what they mean.

A choice is a kind of constant, of all bodies and joints that have it, or one constant by its path:
    "mass"       m₁ …             "link1.mass"
    "length"     l₁ …             "link1.position"     where the joints, and named frames, sit on the body before
    "com"        c₁ …             "link1.com"
    "inertia"    I_zz1 …          "link1.inertia"      about the centre of mass
    "gravity"    g                "gravity"
    "armature"   J₁, "damping" d₁, "friction" f₁, "stiffness" k₁        "joint1.damping" …
Bodies are numbered as in the model, freedoms likewise. A kind leaves zeros as they are; a path does not. A centre of
mass at a joint or frame, as of a point mass at the end of a rod, is called by that one's length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy

from qdot.algebra import Scalar, Sym3, Vec3, is_number, scalars_in
from qdot.derivation.ring import exact
from qdot.derivation.substitution import symbols_in, without_rounding
from qdot.description import WORLD, BodyRecord, FrameRecord
from qdot.errors import UnknownNameError
from qdot.model.assemble import assemble
from qdot.model.model import Body, Model
from qdot.spatial import Inertia, Transform

OF_BODIES = ("mass", "com", "inertia", "position")
OF_JOINTS = {"armature": "J", "damping": "d", "friction": "f", "stiffness": "k"}
KINDS = ("mass", "length", "com", "inertia", "gravity", *OF_JOINTS)
UNITS = {"armature": "kg·m², kg", "damping": "N·m·s, N·s/m", "friction": "N·m, N", "stiffness": "N·m, N/m"}


@dataclass(frozen=True)
class Constant:
    """What a symbol stands for, its unit, and its value in the model; None for a symbol of the model's own."""

    words: str
    unit: str = ""
    value: float | None = None


def named(model: Model, chosen: Iterable[str]) -> tuple[Model, dict[Any, Constant]]:
    """The model with the chosen constants as symbols, and what each symbol is; those it has already come last."""
    own = symbols_in(model)
    naming = _Naming(model, tuple(chosen), {s.name for s in own})
    changed = naming.model()
    rest = sorted(own, key=lambda s: s.name)
    return changed, naming.constants | {s: Constant("a symbol of the model") for s in rest}


class _Naming:
    """Makes the symbols, one constant after the other."""

    def __init__(self, old: Model, chosen: Sequence[str], taken: set[str]) -> None:
        self.old, self.chosen, self.taken = old, set(chosen), taken
        self.constants: dict[Any, Constant] = {}
        known = {*KINDS, *_paths(old)}
        for choice in chosen:
            if choice not in known:
                raise UnknownNameError("constant", choice, known, f"model {old.name!r}")
        self.places: dict[int, dict[tuple[Scalar, ...], Vec3]] = {}

    def model(self) -> Model:
        described = self.old.description
        g = self._vector("gravity", "gravity", described.gravity, "g", "free fall", "m/s²")
        placements = {body.name: self._placement(body) for body in self.old.bodies}
        frames = tuple(self._frame(record) for record in described.frames)
        changed = {body.name: self._body(body, placements[body.name]) for body in self.old.bodies}
        bodies = tuple(changed[record.name] for record in described.bodies)
        return assemble(replace(described, gravity=g, bodies=bodies, frames=frames, allow_unphysical=True))

    def symbol(self, name: str, value: Scalar, words: str, unit: str) -> Any:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        found = sympy.Symbol(name, positive=True)
        self.constants[found] = Constant(words, unit, float(value))
        return found

    def _wanted(self, kind: str, path: str, value: Scalar) -> bool:
        return is_number(value) and (path in self.chosen or (kind in self.chosen and value != 0))

    def _vector(self, kind: str, path: str, old: Vec3, stem: str, words: str, unit: str) -> Vec3:
        """Symbols for the components that are not zero, of all where none is; signs stay where they are."""
        old = without_rounding(old)
        several = sum(not (is_number(x) and x == 0) for x in old) != 1
        stem += "_" if several and "_" not in stem else ""
        new = []
        for axis, x in zip("xyz", old, strict=True):
            if self._wanted(kind, path, x) and (x != 0 or not any(old)):
                along = f"{words} along {'-' if x < 0 else ''}{axis}"
                symbol = self.symbol(f"{stem}{axis if several else ''}", abs(x), along, unit)
                new.append(-symbol if x < 0 else symbol)
            else:
                new.append(x)
        return Vec3(*new)

    # ── lengths ──────────────────────────────────────────────────────────────────────────────────

    def _point(self, body: int, path: str, at: Vec3, words: str, tag: str) -> Vec3:
        """A point of a body; the same point has the same name."""
        known = self.places.setdefault(body, {})
        key = tuple(at)
        if key not in known:
            stem = f"l_{body}_{tag}_" if any(any(k) for k in known) else f"l_{body}"
            known[key] = self._vector("length", path, at, stem.rstrip("_"), words, "m")
        return known[key]

    def _placement(self, body: Body) -> Transform:
        X = body.placement
        where = f"from {self._name(body.parent)} to joint {body.joint_name}"
        place = self._point(body.parent, f"{body.name}.position", X.position, where, str(body.index))
        return replace(X, position=place)

    def _frame(self, record: FrameRecord) -> FrameRecord:
        body = 0 if record.body == WORLD else self.old.body(record.body).index
        X = record.placement
        place = self._point(body, "", X.position, f"from {record.body} to {record.name}", record.name)
        return replace(record, placement=replace(X, position=place))

    def _name(self, body: int) -> str:
        return self.old.bodies[body - 1].name if body else WORLD

    # ── bodies ───────────────────────────────────────────────────────────────────────────────────

    def _body(self, body: Body, placement: Transform) -> BodyRecord:
        record = replace(body.record, placement=placement, inertia=self._inertia(body))
        rows = {name: self._freedoms(body, name, stem) for name, stem in OF_JOINTS.items()}
        return replace(record, passive=replace(body.passive, **rows))

    def _inertia(self, body: Body) -> Inertia:
        old, k, name = body.inertia, body.index, body.name
        massless = is_number(old.mass) and old.mass == 0
        centre = Vec3.zero() if massless else Vec3(*(_plain(x) for x in without_rounding(old.com)))
        m, before = old.mass, len(self.constants)
        if self._wanted("mass", f"{name}.mass", m):
            m = self.symbol(f"m_{k}", m, f"mass of {name}", "kg")
        at_end = self.places.get(k, {}).get(tuple(centre), centre)
        words = f"centre of mass of {name}"
        com = at_end if at_end != centre else self._vector("com", f"{name}.com", centre, f"c_{k}", words, "m")
        I = old.rotational if massless else old.at_com
        scale = max((abs(float(x)) for x in scalars_in([old.rotational]) if is_number(x)), default=0.0)
        entries = {}
        for place in ("xx", "xy", "xz", "yy", "yz", "zz"):
            x = _plain(getattr(I, place), scale)
            if self._wanted("inertia", f"{name}.inertia", x):
                x = self._moment(place, x, k, name)
            entries[place] = x
        if len(self.constants) == before and com == centre:
            return old  # as it stands, to the last digit
        return Inertia.about_com(m, com, Sym3(**entries))

    def _moment(self, place: str, x: Scalar, k: int, name: str) -> Any:
        kind = "moment" if place[0] == place[1] else "product"
        words = f"{kind} of inertia of {name} about its centre of mass, {place}"
        symbol = self.symbol(f"I_{place}{k}", abs(x), words, "kg·m²")
        return -symbol if x < 0 else symbol

    def _freedoms(self, body: Body, kind: str, stem: str) -> tuple[Scalar, ...]:
        """A value for each freedom of a joint."""
        row = []
        for k, x in enumerate(getattr(body.passive, kind), start=body.dofs.start + 1):
            wanted = self._wanted(kind, f"{body.joint_name}.{kind}", x)
            row.append(self.symbol(f"{stem}_{k}", x, f"{kind} of {body.joint_name}", UNITS[kind]) if wanted else x)
        return tuple(row)


def _plain(x: Scalar, scale: float = 0.0) -> Scalar:
    """A number that was computed from numbers of a scale, as the number that was meant."""
    return float(exact(float(x), scale)) if is_number(x) else x


def _paths(model: Model) -> list[str]:
    of_bodies = [f"{body.name}.{kind}" for body in model.bodies for kind in OF_BODIES]
    return of_bodies + [f"{body.joint_name}.{kind}" for body in model.bodies for kind in OF_JOINTS]
