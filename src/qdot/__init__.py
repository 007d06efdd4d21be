"""qdot: multi-joint dynamics, the mechanics written once, as the textbook writes it, over any scalar.

Describe a mechanism with `Mechanism`, make it a `Model` with `assemble`, and pass that to the functions here with
numbers, batches of numbers, or symbols. Joints are in `qdot.joints`, shapes in `qdot.geometry`, spatial vectors in
`qdot.spatial`, well-known mechanisms in `qdot.model.library`, edits in `qdot.model.edit`, errors in `qdot.errors`.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"

# Names load when they are first used, from the places that __init__.pyi gives: `import qdot` stays quick as qdot grows.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
