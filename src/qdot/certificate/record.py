"""What `verify` found: comparisons of two routes to the same thing, and the verdict over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import isinf
from typing import Any

WHOLE = ""
"""In place of a body's name: what is true of the mechanism as a whole."""


@dataclass(frozen=True)
class Comparison:
    """One route against another to the same quantity: the largest disagreement on each body, over all states.

    A disagreement is relative to the size of the terms that were added up; infinite where a route has no answer.
    """

    quantity: str
    route: str
    reference: str
    by_body: Mapping[str, float]
    tolerance: float
    part: str = ""
    """"joint" or "inertia" where it asks a body's own part, so that a failure tells the place; else empty."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """By body: why the route has no answer there."""

    @property
    def disagreement(self) -> float:
        """The largest one."""
        return max(self.by_body.values(), default=0.0)

    @property
    def body(self) -> str:
        """Where the largest one is; empty where it is of the whole mechanism."""
        return max(self.by_body, key=lambda name: self.by_body[name], default=WHOLE)

    @property
    def agrees(self) -> bool:
        return self.disagreement <= self.tolerance

    @property
    def off(self) -> tuple[str, ...]:
        """The bodies on which the routes disagree, from the root to the leaves."""
        return tuple(name for name, x in self.by_body.items() if not x <= self.tolerance and name != WHOLE)


@dataclass(frozen=True)
class Certificate:
    """Every comparison made of a model, and what follows: `agreed`, `verdict`, `by_body`. Printing shows the verdict.

    `notes` say what was left out and why; `doubts`, by body, why no body can have its inertia: then routes may agree on
    a motion that no mechanism has.
    """

    model: str
    bodies: tuple[str, ...]
    joints: Mapping[str, str]
    """The name of each body's joint."""
    states: int
    seed: int
    tolerance: float
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)

    @property
    def agreed(self) -> bool:
        """Whether every comparison came out within the tolerance."""
        return all(c.agrees for c in self.comparisons)

    @property
    def disagreement(self) -> float:
        """The largest one of all."""
        return max((c.disagreement for c in self.comparisons), default=0.0)

    @property
    def failures(self) -> tuple[Comparison, ...]:
        """The comparisons that came out beyond the tolerance; those of a body's own parts first, as they tell why."""
        return tuple(sorted((c for c in self.comparisons if not c.agrees), key=lambda c: not c.part))

    @cached_property
    def routes(self) -> tuple[str, ...]:
        """All routes through the whole mechanism that were taken, as "quantity: route"."""
        whole = [c for c in self.comparisons if not c.part]
        return tuple(dict.fromkeys(f"{c.quantity}: {route}" for c in whole for route in (c.reference, c.route)))

    @cached_property
    def by_body(self) -> dict[str, float]:
        """The largest disagreement on each body, from the root to the leaves."""
        worst = dict.fromkeys(self.bodies, 0.0)
        for comparison in self.comparisons:
            for name, x in comparison.by_body.items():
                if name != WHOLE:
                    worst[name] = max(worst[name], x)
        return worst

    @property
    def suspects(self) -> tuple[str, ...]:
        """The bodies where to look first: those whose own joint or inertia failed; else those that are off and in
        doubt; else the first ones that are off."""
        own = {name for c in self.failures if c.part for name in c.off}
        own = own or {name for c in self.failures for name in c.off if name in self.doubts}
        if own:
            return tuple(name for name in self.bodies if name in own)
        counts = Counter(c.off[0] for c in self.failures if c.off)
        return tuple(name for name, count in counts.most_common() if count == max(counts.values()))

    @property
    def verdict(self) -> str:
        """In words: agreed to what, over how much; else which routes disagree, and on which bodies."""
        over = f"over {self.states} random states"
        if self.agreed:
            quantities = len({c.quantity for c in self.comparisons if not c.part})
            return (
                f"{self.model}: {len(self.routes)} routes to {quantities} quantities, and the laws of every joint and "
                f"inertia, agree to {_size(self.disagreement)} relative {over} (tolerance {self.tolerance:.2g})"
            )
        return "\n".join([f"{self.model}: the routes disagree {over}", *(f"  {line}" for line in self.reasons())])

    def reasons(self) -> Iterator[str]:
        """Where to look first, what is wrong with joints and inertias, and which routes disagree; a line for each."""
        if self.suspects:
            places = (f"body {name!r} (joint {self.joints[name]!r})" for name in self.suspects)
            yield f"look first at {', '.join(places)}"
        alike: dict[tuple[str, str], list[Comparison]] = {}
        for c in self.failures:
            if c.part:
                yield from (self._of_part(c, name) for name in c.off)
            else:
                alike.setdefault((c.quantity, c.problems.get(WHOLE) or f"against {c.reference}"), []).append(c)
        for (quantity, against), failures in alike.items():
            routes = ", ".join(c.route for c in failures)
            largest = max(c.disagreement for c in failures)
            if failures[0].problems:
                yield f"{quantity}: no answer from {routes}: {against}"
            else:
                yield f"{quantity}: {routes} {against}: off by {_size(largest)} relative{_on(failures)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; an infinite disagreement is None."""
        listed = []
        for c in self.comparisons:
            entry = asdict(c)
            entry["by_body"] = {name or "(whole)": None if isinf(x) else x for name, x in c.by_body.items()}
            listed.append({**entry, "agrees": c.agrees})
        return {
            "model": self.model,
            "agreed": self.agreed,
            "verdict": self.verdict,
            "suspects": list(self.suspects),
            "states": self.states,
            "seed": self.seed,
            "tolerance": self.tolerance,
            "disagreement": None if isinf(self.disagreement) else self.disagreement,
            "notes": list(self.notes),
            "doubts": dict(self.doubts),
            "comparisons": listed,
        }

    def __str__(self) -> str:
        doubts = [f"  doubt: no body can have the inertia of {name!r}: {why}" for name, why in self.doubts.items()]
        return "\n".join([self.verdict, *doubts, *(f"  note: {note}" for note in self.notes)])

    def _of_part(self, c: Comparison, name: str) -> str:
        where = f"joint {self.joints[name]!r} of body {name!r}" if c.part == "joint" else f"inertia of body {name!r}"
        if name in c.problems:
            return f"{where}: {c.route} cannot be used: {c.problems[name]}"
        return f"{where}: {c.route} is not {c.reference}: off by {_size(c.by_body[name])} relative"


def _on(failures: list[Comparison]) -> str:
    bodies = list(dict.fromkeys(name for c in failures for name in c.off))
    if not bodies:
        return ""
    return f" on {', '.join(bodies[:5])}{f' and {len(bodies) - 5} more' if len(bodies) > 5 else ''}"


def _size(x: float) -> str:
    return "the last bit" if x == 0 else f"{x:.1e}"
