"""What each term means, in words (H17): which inertia, which coupling, centrifugal, Coriolis, weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdot.algebra import is_zero
from qdot.model.model import Model

OF_THE_TREE = (
    "The mechanism is closed by constraints; these are the equations of its tree, without them. The forces of the "
    "constraints come in addition: + J_φᵀ λ on the side of the joint forces, with λ as large as the constraints need."
)

OF_ACTUATORS = (
    "What the actuators do, (∂l/∂q)ᵀ f of the lengths l of their transmissions: it takes the place of the joint forces "
    "τ. Controls are u, activations w."
)


class Words:
    """Sentences about the terms of a model's equations; freedoms are counted from 0."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.names = model.dof_names()
        self.turns = [turning for body in model.bodies for turning in _turns(body)]

    def force(self, i: int) -> str:
        return "moment" if self.turns[i] else "force"

    def unit(self, i: int) -> str:
        return "rad" if self.turns[i] else "m"

    def carried(self, i: int) -> str:
        """The bodies with mass that move when freedom i does."""
        model = self.model
        own = next(body.index for body in model.bodies if body.dofs.start <= i < body.dofs.stop)
        moving = {own}
        for body in model.bodies:
            if body.parent in moving:
                moving.add(body.index)
        return _listed([b.name for b in model.bodies if b.index in moving and not is_zero(b.inertia.mass)])

    def coordinate(self, i: int) -> str:
        return f"{'turn' if self.turns[i] else 'slide'} of {self.names[i]}; it moves {self.carried(i)}"

    def inertia(self, i: int, j: int, entry: Any, coordinates: Sequence[Any]) -> str:
        """Of M_ij."""
        if i == j:
            what = f"the inertia that {self.names[i]} feels when it alone accelerates, that of {self.carried(i)}"
        else:
            what = f"the coupling of {self.names[i]} and {self.names[j]}"
            if entry == 0:
                return f"no {what.removeprefix('the ')}: accelerating one asks nothing of the other"
            what += f": the {self.force(i)} at one that unit acceleration of the other asks for"
        return f"{what}; {self._depends(entry, coordinates)}"

    def _depends(self, entry: Any, coordinates: Sequence[Any]) -> str:
        moving = [s for s in coordinates if s in entry.free_symbols]
        return f"it changes with {_listed([s.name for s in moving])}" if moving else "the same in every configuration"

    def centrifugal(self, i: int, j: int) -> str:
        """Of C_ij = h_ijj, the factor of the square of velocity j."""
        return f"centrifugal: the {self.force(i)} at {self.names[i]} that {self.names[j]} causes by moving alone"

    def coriolis(self, i: int, j: int, k: int) -> str:
        """Of B_i,jk, the factor of the product of velocities j and k."""
        both = f"{self.names[j]} and {self.names[k]} cause by moving at once"
        return f"Coriolis: the {self.force(i)} at {self.names[i]} that {both}"

    def gravity(self, i: int, entry: Any) -> str:
        """Of G_i."""
        if entry == 0:
            return f"{self.names[i]} moves nothing against gravity"
        return f"the {self.force(i)} at {self.names[i]} that holds the weight of {self.carried(i)}"

    def equation(self, i: int) -> str:
        return f"the balance of {self.force(i)}s at {self.names[i]}"


def _turns(body: Any) -> list[bool]:
    """Whether each freedom of a joint turns its body, as the joint itself says."""
    return [any(not is_zero(x) for x in s.ang) for s in body.joint.subspace(body.joint.neutral())]


def _listed(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    if not names:
        return "nothing that has mass"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
