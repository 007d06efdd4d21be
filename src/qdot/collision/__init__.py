"""Where shapes meet: distances, touches and rays, of single shapes and of whole models.

Of two shapes: `distance`, `touches`; of one: `ray`. Of a model at a configuration: `contacts`, `closest`, `ray_cast`.
"""

from qdot.collision.model_queries import ModelClosest, ModelHit, ModelTouch, Place, closest, contacts, ray_cast
from qdot.collision.queries import Closest, RayHit, distance, ray, touches

__all__ = [
    "Closest",
    "ModelClosest",
    "ModelHit",
    "ModelTouch",
    "Place",
    "RayHit",
    "closest",
    "contacts",
    "distance",
    "ray",
    "ray_cast",
    "touches",
]
