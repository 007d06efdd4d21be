"""Constraints on a model: what they hold, as rows of J, and the solvers that find the forces to hold it."""
