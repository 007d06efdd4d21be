"""Spatial inertia of a rigid body (F2, F7: 10 parameters) and of an articulated body (21 parameters)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from qdot.algebra import Mat3, Scalar, Sym3, Vec3, steiner
from qdot.errors import ValueShapeError
from qdot.quick import quick
from qdot.spatial.vectors import Force, Motion

if TYPE_CHECKING:
    from qdot.spatial.transform import Transform


def _symmetric_product(a: Vec3, b: Vec3) -> Sym3:
    """-(ã b̃ + b̃ ã) = 2 (a·b) 1 - (a bᵀ + b aᵀ)."""
    xx, yy, zz = a.x * b.x, a.y * b.y, a.z * b.z
    return Sym3(
        2 * (yy + zz),
        -(a.x * b.y + a.y * b.x),
        -(a.x * b.z + a.z * b.x),
        2 * (xx + zz),
        -(a.y * b.z + a.z * b.y),
        2 * (xx + yy),
    )


@quick
@dataclass(frozen=True, slots=True)
class Inertia:
    """A rigid body's mass m [kg], first moment h = m c [kg·m] and rotational inertia about the origin [kg·m²].

    As a matrix it is [[I_O, h̃], [h̃ᵀ, m 1]] (T3). All ten numbers enter linearly, so inertias add (F6) and a massless
    body needs no special case.
    """

    mass: Scalar
    moment: Vec3
    rotational: Sym3

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None

    @staticmethod
    def zero() -> Inertia:
        return Inertia(0, Vec3.zero(), Sym3.zero())

    @staticmethod
    def about_com(mass: Scalar, com: Iterable[Scalar], at_com: Sym3 | Iterable[Scalar]) -> Inertia:
        """From mass, centre of mass and inertia at it: three principal moments, or a Sym3. I_O = I_C - m c̃c̃."""
        c = Vec3.of(com)
        I_C = at_com if isinstance(at_com, Sym3) else Sym3.diagonal(*Vec3.of(at_com))
        return Inertia(mass, c * mass, I_C + steiner(c, mass))

    @staticmethod
    def point(mass: Scalar, at: Iterable[Scalar] = (0, 0, 0)) -> Inertia:
        """A point mass."""
        return Inertia.about_com(mass, at, Sym3.zero())

    @staticmethod
    def of_parameters(parameters: Iterable[Scalar]) -> Inertia:
        """From (m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz), the order of `parameters`."""
        ten = tuple(parameters)
        if len(ten) != 10:
            raise ValueShapeError(
                "an inertia has 10 parameters (m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the body's origin), "
                f"got {len(ten)}"
            )
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = ten
        return Inertia(m, Vec3(hx, hy, hz), Sym3(xx, xy, xz, yy, yz, zz))

    def parameters(self) -> tuple[Scalar, ...]:
        """(m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz), about the origin: the π of the regressor Y π = τ."""
        I_O = self.rotational
        return (self.mass, *self.moment, I_O.xx, I_O.xy, I_O.yy, I_O.xz, I_O.yz, I_O.zz)

    @property
    def com(self) -> Vec3:
        """Centre of mass [m]; of a body with mass."""
        return self.moment / self.mass

    @property
    def at_com(self) -> Sym3:
        """Rotational inertia about the centre of mass [kg·m²]."""
        return self.rotational - steiner(self.com, self.mass)

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies joined together (F6)."""
        return Inertia(self.mass + other.mass, self.moment + other.moment, self.rotational + other.rotational)

    def __mul__(self, s: Scalar) -> Inertia:
        return Inertia(self.mass * s, self.moment * s, self.rotational * s)

    def __rmul__(self, s: Scalar) -> Inertia:
        return self * s

    def __matmul__(self, v: Motion) -> Force:
        """Momentum I v (F1, F3): moment of momentum I_O ω + h × v, linear momentum m v - h × ω."""
        return Force(
            self.rotational @ v.ang + self.moment.cross(v.lin),
            v.lin * self.mass - self.moment.cross(v.ang),
        )

    def energy(self, v: Motion) -> Scalar:
        """Kinetic energy ½ v·Iv [J] (F3)."""
        return v.dot(self @ v) / 2

    def rate(self, v: Motion) -> Inertia:
        """dI/dt = v×* I - I v× of a body moving with velocity v (F4): an inertia of zero mass."""
        h = self.moment
        W = v.ang.skew() @ self.rotational.full()
        turning = Sym3.upper(W + W.T)  # ω̃ I - I ω̃, and I ω̃ = -(ω̃ I)ᵀ
        return Inertia(0, v.ang.cross(h) + v.lin * self.mass, turning + _symmetric_product(v.lin, h))

    def outward(self, X: Transform) -> Inertia:
        """I_A = X_AB* I_B X_BA: a congruence (F5)."""
        R, p = X.rotation, X.position
        h = R @ self.moment
        half = h + p * (self.mass / 2)
        return Inertia(self.mass, h + p * self.mass, self.rotational.congruence(R) + _symmetric_product(p, half))

    def inward(self, X: Transform) -> Inertia:
        R_T, p = X.rotation.T, -X.position
        h = self.moment + p * self.mass
        half = self.moment + p * (self.mass / 2)
        shifted = self.rotational + _symmetric_product(p, half)
        return Inertia(self.mass, R_T @ h, shifted.congruence(R_T))

    def entries(self) -> tuple[tuple[Scalar, ...], ...]:
        """The 6 × 6 matrix, by rows."""
        return ArticulatedInertia.of(self).entries()


@quick
@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """[[I, H], [Hᵀ, M]]: any symmetric map from motion to force, e.g. what a body with joints hanging on it opposes."""

    rotational: Sym3
    coupling: Mat3
    translational: Sym3

    holds_scalars: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None

    @staticmethod
    def zero() -> ArticulatedInertia:
        return ArticulatedInertia(Sym3.zero(), Mat3.zero(), Sym3.zero())

    @staticmethod
    def of(I: Inertia) -> ArticulatedInertia:
        m = I.mass
        return ArticulatedInertia(I.rotational, I.moment.skew(), Sym3.diagonal(m, m, m))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            self.rotational + other.rotational,
            self.coupling + other.coupling,
            self.translational + other.translational,
        )

    def __matmul__(self, v: Motion) -> Force:
        H = self.coupling
        return Force(
            self.rotational @ v.ang + H @ v.lin,
            H.T @ v.ang + self.translational @ v.lin,
        )

    def minus_square(self, w: Force, d: Scalar) -> ArticulatedInertia:
        """I - w wᵀ / d: what stays when one motion, opposed by d, yields freely."""
        k = w * (1 / d)
        return ArticulatedInertia(
            self.rotational - Sym3.upper(w.ang.outer(k.ang)),
            self.coupling - w.ang.outer(k.lin),
            self.translational - Sym3.upper(w.lin.outer(k.lin)),
        )

    def outward(self, X: Transform) -> ArticulatedInertia:
        R, p = X.rotation, X.position.skew()
        H = R @ self.coupling @ R.T
        M = self.translational.congruence(R)
        H_A = H + p @ M.full()
        tilt = p @ H.T
        I = self.rotational.congruence(R) + Sym3.upper(tilt.T + p @ H_A.T)
        return ArticulatedInertia(I, H_A, M)

    def inward(self, X: Transform) -> ArticulatedInertia:
        return self.outward(X.inv().transform())

    def entries(self) -> tuple[tuple[Scalar, ...], ...]:
        """The 6 × 6 matrix, by rows."""
        I, H, H_T, M = (
            block.entries() for block in (self.rotational, self.coupling, self.coupling.T, self.translational)
        )
        return tuple((*I[k], *H[k]) for k in range(3)) + tuple((*H_T[k], *M[k]) for k in range(3))
