"""The methods of `Mechanism` that hold it together beside its tree."""

from __future__ import annotations

from collections.abc import Iterable

from qdot.algebra import Scalar, Vec3
from qdot.description.builder_records import Place, Placement, Records, checked_pose, number, numbers, point
from qdot.description.constraints import ConnectRecord, CouplingRecord, DistanceRecord, WeldRecord
from qdot.errors import ModelError


class HoldsTogether(Records):
    """Constraints between frames, and between coordinates of joints or lengths of tendons; each returns its name."""

    def connect(
        self, name: str, frame1: Place, frame2: Place, point1: Iterable[Scalar] = (0, 0, 0),
        point2: Iterable[Scalar] = (0, 0, 0),
    ) -> str:  # fmt: skip
        """Hold a point of one frame to a point of another: three rows, p₁ - p₂ = 0 [m]."""
        what = self._what("constraint", name, {**self._loops, **self._constraints})
        one, two = self._two_frames(frame1, frame2, what)
        p1, p2 = point(point1, f"{what}: point1"), point(point2, f"{what}: point2")
        return self._keep(ConnectRecord(name, one, p1, two, p2), self._constraints)

    def weld(self, name: str, frame1: Place, frame2: Place, at: Placement = None) -> str:
        """Hold frame 2 at a pose on frame 1, the one it has at home if not given: six rows."""
        what = self._what("constraint", name, {**self._loops, **self._constraints})
        one, two = self._two_frames(frame1, frame2, what)
        held = self._at_home(one).inv() @ self._at_home(two) if at is None else checked_pose(at, what)
        return self._keep(WeldRecord(name, one, held, two, Vec3.zero()), self._constraints)

    def distance(
        self, name: str, frame1: Place, frame2: Place, length: Scalar | None = None, *,
        point1: Iterable[Scalar] = (0, 0, 0), point2: Iterable[Scalar] = (0, 0, 0),
    ) -> str:  # fmt: skip
        """Hold two points a length apart, as a rod without mass does: one row, |p₁ - p₂| - length = 0 [m].

        The length is what it is at home if not given.
        """
        what = self._what("constraint", name, {**self._loops, **self._constraints})
        one, two = self._two_frames(frame1, frame2, what)
        p1, p2 = point(point1, f"{what}: point1"), point(point2, f"{what}: point2")
        far = self._apart_at_home(one, p1, two, p2) if length is None else number(length, f"{what}: its length")
        return self._keep(DistanceRecord(name, one, p1, two, p2, far), self._constraints)

    def couple(self, name: str, follower: Place, driver: Place | None, coefficients: Iterable[Scalar]) -> str:
        """A joint that follows another by a polynomial, y = a₀ + a₁ x + a₂ x² + …: one row [rad, m].

        Both have one freedom. Without a driver y is held at a₀. Tendons that were described so far couple likewise.
        """
        what = self._what("constraint", name, {**self._loops, **self._constraints})
        polynomial = numbers(coefficients, f"{what}: its coefficients")
        if not polynomial:
            raise ModelError(f"{what} has no coefficients; give a₀, a₁, … of y = a₀ + a₁ x + …")
        return self._couple(name, follower, driver, polynomial, what)

    def gear(self, name: str, follower: Place, driver: Place, ratio: Scalar) -> str:
        """A joint that turns `ratio` times as far as another, both counted from home: y - y₀ = ratio · (x - x₀)."""
        what = self._what("constraint", name, {**self._loops, **self._constraints})
        ends = (self._joint(joint, what) for joint in (follower, driver))
        y, x = (self._position_at_home(joint, what) for joint in ends)
        return self._couple(name, follower, driver, (0, number(ratio, f"{what}: its ratio")), what, (y, x))

    def mimic(self, name: str, follower: Place, driver: Place, ratio: Scalar = 1, offset: Scalar = 0) -> str:
        """A joint that follows another as URDF's mimic does: y = ratio · x + offset."""
        what = self._what("constraint", name, {**self._loops, **self._constraints})
        a0, a1 = number(offset, f"{what}: its offset"), number(ratio, f"{what}: its ratio")
        return self._couple(name, follower, driver, (a0, a1), what)

    def _couple(
        self, name: str, follower: Place, driver: Place | None, coefficients: tuple[Scalar, ...], what: str,
        reference: tuple[Scalar, Scalar] = (0, 0),
    ) -> str:  # fmt: skip
        tendons = isinstance(follower, str) and follower in self._tendons
        known = self._tendon if tendons else self._joint
        ends = known(follower, what), None if driver is None else known(driver, what)
        if ends[0] == ends[1]:
            raise ModelError(f"{what} lets {ends[0]!r} follow itself; give it another driver")
        return self._keep(CouplingRecord(name, *ends, coefficients, reference, tendons), self._constraints)
