"""The frozen model, its states, its edits, and a library of well-known mechanisms."""

from qdot.model import edit, library
from qdot.model.model import Body, Frame
from qdot.model.state import JointState

__all__ = ["Body", "Frame", "JointState", "edit", "library"]
