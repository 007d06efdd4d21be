"""Records of what a mechanism is, and the builder that writes them from Python."""

from qdot.description.actuators import (
    Activation,
    ActuatorRecord,
    Affine,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
)
from qdot.description.builder import Part
from qdot.description.bushings import BushingRecord
from qdot.description.constraints import ConnectRecord, CouplingRecord, DistanceRecord, LoopRecord, WeldRecord
from qdot.description.contact import Contact, ExclusionRecord, PairRecord, Softness
from qdot.description.records import (
    WORLD,
    BodyRecord,
    Description,
    FrameRecord,
    JointSoftness,
    Material,
    Passive,
    ShapeRecord,
)
from qdot.description.report import Item, Report, Severity
from qdot.description.scene import DragBox, Fluid, KeyframeRecord, Options, SensorRecord
from qdot.description.tendons import Pulley, TendonRecord, Via, Weighted, Wrap

__all__ = [
    "WORLD",
    "Activation",
    "ActuatorRecord",
    "Affine",
    "BodyRecord",
    "BushingRecord",
    "ConnectRecord",
    "Contact",
    "CouplingRecord",
    "Description",
    "DistanceRecord",
    "DragBox",
    "ExclusionRecord",
    "Fluid",
    "FrameRecord",
    "Item",
    "JointSoftness",
    "KeyframeRecord",
    "LoopRecord",
    "Material",
    "OnContacts",
    "OnFrame",
    "OnJoint",
    "OnSliderCrank",
    "OnTendon",
    "Options",
    "PairRecord",
    "Part",
    "Passive",
    "Pulley",
    "Report",
    "SensorRecord",
    "Severity",
    "ShapeRecord",
    "Softness",
    "TendonRecord",
    "Via",
    "WeldRecord",
    "Weighted",
    "Wrap",
]
