"""Records of what a mechanism is, and the builder that writes them from Python."""

from qdot.description.builder import Part
from qdot.description.records import (
    WORLD,
    BodyRecord,
    Description,
    FrameRecord,
    LoopRecord,
    Material,
    Passive,
    ShapeRecord,
)

__all__ = [
    "WORLD",
    "BodyRecord",
    "Description",
    "FrameRecord",
    "LoopRecord",
    "Material",
    "Part",
    "Passive",
    "ShapeRecord",
]
