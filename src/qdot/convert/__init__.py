"""State and force vectors to and from the order and the conventions of MuJoCo and Pinocchio.

>>> bridge = qdot.convert.mujoco(model, mj_model)
>>> data.qpos[:], data.qvel[:] = bridge.q_to(q), bridge.v_to(q, v)
>>> a = bridge.a_from(data.qpos, data.qvel, data.qacc)
"""

from qdot.convert.bridge import Bridge
from qdot.convert.to_mujoco import mujoco
from qdot.convert.to_pinocchio import pinocchio

__all__ = ["Bridge", "mujoco", "pinocchio"]
