"""The certificate of a model: all formulations of its mechanics give one motion, or which do not, and where."""

from qdot.certificate.record import Certificate, Comparison
from qdot.certificate.verification import verify

__all__ = ["Certificate", "Comparison", "verify"]
