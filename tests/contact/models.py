"""Small mechanisms that touch things, as MJCF texts."""

import numpy as np

import qdot

GRAVITY = 9.81
PLANAR = """<joint name="{0} x" type="slide" axis="1 0 0"/><joint name="{0} z" type="slide" axis="0 0 1"/>
<joint name="{0} turn" type="hinge" axis="0 1 0"/>"""


def scene(bodies: str, *, slope: float = 0.0, mu: float = 1.0, floor: bool = True, more: str = "") -> qdot.Model:
    """Bodies on a level floor; on a slope weight is tilted towards x."""
    g = GRAVITY if floor else 0.0
    weight = f"{g * np.sin(slope):.17g} 0 {-g * np.cos(slope):.17g}"
    plane = f'<geom name="floor" type="plane" size="9 9 1" friction="{mu} 0 0"/>' if floor else ""
    return qdot.load(
        f'<mujoco><option gravity="{weight}" cone="elliptic"/><worldbody>{plane}{bodies}</worldbody>{more}</mujoco>'
    )


def ball(
    name: str = "ball", at: str = "0 0 0.1", joint: str = "<freejoint/>", mass: float = 1.0, more: str = ""
) -> str:
    """Of radius 0.1 m."""
    geom = f'<geom name="{name}" type="sphere" size="0.1" mass="{mass}" {more}/>'
    return f'<body name="{name}" pos="{at}">{joint}{geom}</body>'


def box(name: str, at: str, half: str, joint: str = "<freejoint/>", mass: float = 1.0, more: str = "") -> str:
    geom = f'<geom name="{name}" type="box" size="{half}" mass="{mass}" {more}/>'
    return f'<body name="{name}" pos="{at}">{joint}{geom}</body>'


def planar(name: str) -> str:
    return PLANAR.format(name)


def friction(mu: float) -> str:
    return f'friction="{mu} 0 0"'
