"""Hypothesis: no deadline (first calls load packages); in CI the same examples every run.

Public functions run their texts, not compiled programs: tests make thousands of models and call each once or twice.
tests/programs/test_dispatch.py turns compiling on. Compiled code stays in a folder of the run's own.
"""

import os

os.environ.setdefault("QDOT_COMPILE", "off")

import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """The user's cache of compiled objects is neither read nor filled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QDOT_CACHE", str(tmp_path_factory.mktemp("qdot-cache")))
        yield
