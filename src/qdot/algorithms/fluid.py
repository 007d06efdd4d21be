"""Drag of a fluid at rest, or moving as wind, on a box that stands for a body (MuJoCo's inertia-box model).

With sides x, y, z, diameter d = (x + y + z)/3, viscosity β and density ρ, along each axis of the box
    force   f_x = -3π β d v_x - ½ ρ y z |v_x| v_x,
    moment  n_x = -π β d³ ω_x - ρ x (y⁴ + z⁴) |ω_x| ω_x / 64,
v the velocity of the box's centre relative to the fluid: Stokes' law for a sphere, and pressure on the faces.
"""

from __future__ import annotations

from math import pi

from qdot.algebra import Vec3, absolute
from qdot.algorithms.kinematics import Kinematics
from qdot.description import DragBox, Fluid
from qdot.spatial import Force, Motion


def drag(fluid: Fluid, box: DragBox, motion: Kinematics, i: int) -> Force:
    """The wrench of the fluid on the box of body i, in the body's coordinates [N·m, N]."""
    X_WD = motion.poses[i] @ box.placement
    V = box.placement.inv() @ motion.velocities[i]
    V = Motion(V.ang, V.lin - X_WD.rotation.T @ Vec3(*fluid.wind))
    x, y, z = box.x, box.y, box.z
    d, w, v = (x + y + z) / 3, V.ang, V.lin
    moment, force = w * (-pi * fluid.viscosity * d**3), v * (-3 * pi * fluid.viscosity * d)
    rho = fluid.density
    pressed = Vec3(y * z * absolute(v.x) * v.x, x * z * absolute(v.y) * v.y, x * y * absolute(v.z) * v.z)
    turned = Vec3(
        x * (y**4 + z**4) * absolute(w.x) * w.x,
        y * (x**4 + z**4) * absolute(w.y) * w.y,
        z * (x**4 + y**4) * absolute(w.z) * w.z,
    )
    return box.placement @ Force(moment - turned * (rho / 64), force - pressed * (rho / 2))
