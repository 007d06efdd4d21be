"""The example of the contact court: what holds stays to rounding, and no spring carries a thousand times its mass."""

import importlib
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.no_cover
def test_the_example(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    with mpl.rc_context():
        found = importlib.import_module("contact_court").main(tmp_path)
        pyplot.close("all")
    assert all(found[name] < 1e-9 for name in ("hard", "lcp", "impulse"))
    assert found["soft"] > 1e-5 < found["penalty"]
    assert found["springs"] == 0
    assert found["hard overlap"] < 1e-8
    assert (tmp_path / "contact_court.png").stat().st_size > 10_000
