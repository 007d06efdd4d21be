"""Reports: what they say, and that lines are looked for when somebody asks, and once."""

from __future__ import annotations

import copy
import pickle

import pytest

import qdot
from qdot.description import Item, Report, Severity

NOTE, KEPT = Item(Severity.NOTE, "a", "found", "done", "file"), Item(Severity.KEPT, "b", "found", "done", "file")
TEXT = """<robot name="r">
  <link name="a"/>
  <gazebo><mu1>1</mu1></gazebo>
  <!-- <gazebo/> -->
  <transmission/>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="fixed"><parent link="a"/><child link="b"/>
    <axis xyz="1 0 0"/></joint>
</robot>
"""


class Lines:
    """Gives lines, and counts how often it was asked."""

    def __init__(self, *lines: int | None) -> None:
        self.lines = lines
        self.asked = 0

    def __call__(self) -> tuple[int | None, ...]:
        self.asked += 1
        return self.lines


def test_lines_are_asked_for_once_and_by_those_who_look() -> None:
    lines = Lines(3, 7)
    report = Report((NOTE, KEPT), lines)
    assert (len(report), report.of(Severity.PHYSICS), lines.asked) == (2, (), 0)
    assert [item.place for item in report] == ["file:3", "file:7"]
    assert [item.place for item in report.of(Severity.KEPT)] == ["file:7"]
    assert str(report) == "NOTE    file:3: a: found; done\nKEPT    file:7: b: found; done"
    assert lines.asked == 1


def test_a_sum_of_reports_asks_no_earlier() -> None:
    first, second = Lines(3), Lines(None)
    total = Report((NOTE,), first) + Report() + Report((KEPT,), second)
    assert (len(total), first.asked, second.asked) == (2, 0, 0)
    assert [item.place for item in total] == ["file:3", "file"]
    assert (first.asked, second.asked) == (1, 1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda report: pickle.loads(pickle.dumps(report))])
def test_copies_have_the_lines(again: object) -> None:
    report = qdot.load(TEXT).report
    copied = again(report)  # type: ignore[operator]
    assert (copied, hash(copied), repr(copied)) == (report, hash(report), repr(report))
    assert [item.line for item in copied] == [3, 5, 8, 6]


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Report((NOTE,)).items = ()  # type: ignore[misc]
    assert Report((NOTE,)) != Report((KEPT,))
    assert Report((NOTE,)) != (NOTE,)
    assert str(Report()) == "nothing to report"
