"""Small model files for the commands, and how a command is run."""

from __future__ import annotations

from dataclasses import dataclass

from qdot.cli.main import main

ARM = """<?xml version="1.0"?>
<robot name="small arm">
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual>
  </link>
  <link name="[bold]hand[/bold]">
    <inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.25" velocity="3" effort="40"/>
    <dynamics damping="0.125"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="upper"/><child link="[bold]hand[/bold]"/><axis xyz="0.6 0 0.8"/>
    <limit lower="0" upper="0.2" velocity="0.5" effort="7"/>
  </joint>
  <transmission name="drive"/>
</robot>
"""

BROKEN = '<robot name="broken">\n  <link name="a"/>\n  <link name="a"/>\n</robot>\n'

HOPPER = """<mujoco model="hopper">
  <compiler angle="radian"/>
  <worldbody>
    <camera name="eye" pos="0 0 3"/>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="sphere" size="0.1" mass="3"/>
      <body name="leg">
        <joint name="hip" axis="0 1 0" range="-1 1" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/>
        <site name="toe" pos="0 0 -0.4"/>
        <body name="wheel" pos="0.2 0 0">
          <joint name="spin" axis="1 0 0"/>
          <geom type="sphere" size="0.05" mass="0.5"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="belt"><joint joint="hip" coef="1"/><joint joint="spin" coef="-2"/></fixed></tendon>
  <equality><joint name="geared" joint1="spin" joint2="hip" polycoef="0 3 0 0 0"/></equality>
  <actuator>
    <position name="servo" joint="hip" kp="50" ctrlrange="-1 1" ctrllimited="true"/>
    <motor name="pull" tendon="belt" gear="4"/>
  </actuator>
  <sensor><gyro name="gyro" site="toe"/></sensor>
  <keyframe><key name="home" qpos="0 0 2 1 0 0 0 0.1 0.2"/></keyframe>
</mujoco>
"""

PART = "<mujocoinclude><body/></mujocoinclude>"


@dataclass(frozen=True)
class Ran:
    """A command that ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What it wrote, with any space as one space: tables break lines where they must."""
        return " ".join(self.out.split())


def ran(capsys, *words: object) -> Ran:
    code = main([str(word) for word in words])
    written = capsys.readouterr()
    return Ran(code, written.out, written.err)
