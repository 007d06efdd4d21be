"""Small MJCF models with every kind of tendon, transmission, equality and passive force, one kind each or a few."""

from __future__ import annotations

ARM = """
  <worldbody>
    <site name="ground" pos="0.1 0.05 0.9"/>
    <geom name="post" type="cylinder" size="0.06 0.5" pos="0.2 0.1 0.7" euler="90 10 0"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0.2" pos="0.02 0 0.01" ref="20"/>
      <geom name="bone" type="capsule" size="0.03" fromto="0 0 0 0.4 0 0"/>
      <geom name="knob" type="sphere" size="0.08" pos="0.4 0 0.02"/>
      <site name="top" pos="0.1 0.02 0.12"/>
      <site name="above" pos="0.4 0.01 0.2"/>
      <site name="within" pos="0.41 0 0.03"/>
      <body name="lower" pos="0.4 0 0">
        <joint name="elbow" axis="0 1 0" damping="0.3" stiffness="4" springref="30"/>
        <joint name="twist" axis="1 0 0" pos="0.1 0 0" frictionloss="0.4"/>
        <geom type="capsule" size="0.025" fromto="0 0 0 0.35 0 0"/>
        <geom name="roller" type="cylinder" size="0.05 0.1" pos="0.15 0 0.05" euler="90 0 0"/>
        <site name="wrist" pos="0.35 0.02 0.06" euler="10 20 30"/>
        <site name="below" pos="0.15 0 -0.2"/>
        <body name="hand" pos="0.35 0 0">
          <joint name="slide" type="slide" axis="1 0 1" range="-0.1 0.2"/>
          <geom type="box" size="0.05 0.03 0.02"/>
          <site name="tip" pos="0.06 0.01 0.02" euler="0 40 0"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="0.5 0.5 1">
      <joint name="socket" type="ball" damping="0.2" stiffness="1.5" pos="0 0 0.1"/>
      <geom type="ellipsoid" size="0.1 0.07 0.05"/>
      <site name="on_ball" pos="0.1 0 0"/>
    </body>
    <body name="floater" pos="-1 0 1">
      <freejoint name="float"/>
      <geom type="box" size="0.1 0.15 0.2" gap="0"/>
      <site name="on_floater" pos="0.1 0.1 0" euler="30 0 20"/>
    </body>
  </worldbody>
"""

TENDONS = f"""<mujoco model="tendons">{ARM}
  <tendon>
    <fixed name="weighted" stiffness="3" damping="0.5" springlength="0.1 0.3" frictionloss="0.2">
      <joint joint="shoulder" coef="0.3"/><joint joint="elbow" coef="-0.7"/><joint joint="slide" coef="2"/>
    </fixed>
    <spatial name="straight" stiffness="30" damping="2">
      <site site="ground"/><site site="top"/><site site="tip"/>
    </spatial>
    <spatial name="over_sphere" stiffness="10" springlength="0.2">
      <site site="top"/><geom geom="knob"/><site site="wrist"/>
    </spatial>
    <spatial name="beside_sphere"><site site="top"/><geom geom="knob" sidesite="above"/><site site="wrist"/></spatial>
    <spatial name="through_sphere"><site site="top"/><geom geom="knob" sidesite="within"/><site site="wrist"/></spatial>
    <spatial name="over_cylinder" damping="1"><site site="top"/><geom geom="roller"/><site site="wrist"/></spatial>
    <spatial name="under_cylinder">
      <site site="top"/><geom geom="roller" sidesite="below"/><site site="wrist"/>
      <geom geom="post"/><site site="ground"/>
    </spatial>
    <spatial name="tackle">
      <site site="ground"/><site site="top"/><pulley divisor="2"/><site site="top"/><site site="wrist"/>
      <pulley divisor="3"/><site site="top"/><geom geom="knob"/><site site="tip"/>
    </spatial>
  </tendon>
</mujoco>"""

ACTUATORS = f"""<mujoco model="actuators"><option timestep="0.004"/>{ARM}
  <tendon>
    <fixed name="weighted" actuatorfrcrange="-0.5 0.7">
      <joint joint="shoulder" coef="0.3"/><joint joint="elbow" coef="-0.7"/>
    </fixed>
    <spatial name="over_sphere"><site site="top"/><geom geom="knob"/><site site="wrist"/></spatial>
  </tendon>
  <actuator>
    <motor name="motor" joint="shoulder" gear="50" ctrlrange="-0.6 0.6" ctrllimited="true"/>
    <position name="servo" joint="elbow" kp="20" kv="2" forcerange="-3 3" forcelimited="true"/>
    <velocity name="speed" joint="slide" kv="4"/>
    <intvelocity name="integrated" joint="twist" kp="5" actrange="-1 1"/>
    <cylinder name="piston" joint="slide" timeconst="0.2" area="0.3" bias="1 2 3"/>
    <general name="filtered" joint="elbow" dyntype="filter" dynprm="0.1" gaintype="affine" gainprm="3 0.5 -0.2"
             biastype="affine" biasprm="0.1 -2 -0.3" actrange="-0.4 0.4" actlimited="true"/>
    <general name="exact" joint="elbow" dyntype="filterexact" dynprm="0.05" actearly="true"/>
    <general name="early" joint="shoulder" dyntype="filter" dynprm="0.07" actearly="true" actrange="-0.5 0.5"
             actlimited="true"/>
    <motor name="on_tendon" tendon="weighted" gear="2"/>
    <position name="tendon_servo" tendon="weighted" kp="7"/>
    <position name="on_spatial" tendon="over_sphere" kp="3"/>
    <motor name="ball_motor" joint="socket" gear="0.3 -0.2 0.5"/>
    <position name="ball_servo" joint="socket" gear="0 1 0.2" kp="2"/>
    <position name="ball_in_parent" jointinparent="socket" gear="0.1 1 0.2" kp="2"/>
    <motor name="free_motor" joint="float" gear="1 2 3 0.1 0.2 0.3"/>
    <motor name="free_in_parent" jointinparent="float" gear="1 2 3 0.1 0.2 0.3"/>
    <motor name="thrust" site="on_floater" gear="0 0 1 0 0 0.1"/>
    <motor name="thrust_on_arm" site="tip" gear="0.5 0 1 0.2 0 0.1"/>
    <position name="between" site="tip" refsite="top" gear="1 0.5 0.2 0 0 0" kp="5"/>
    <position name="turned" site="wrist" refsite="on_floater" gear="0 0 0 0.3 1 0.2" kp="5"/>
    <motor name="crank" cranksite="wrist" slidersite="ground" cranklength="0.8" gear="1.5"/>
  </actuator>
</mujoco>"""

CONSTRAINTS = f"""<mujoco model="constraints">{ARM}
  <tendon>
    <fixed name="one"><joint joint="shoulder" coef="0.3"/><joint joint="elbow" coef="-0.7"/></fixed>
    <fixed name="other"><joint joint="slide" coef="1.5"/></fixed>
  </tendon>
  <equality>
    <connect name="pin" body1="hand" body2="ball" anchor="0.1 0 0.05"/>
    <connect name="pin_world" body1="floater" anchor="0 0.2 0.1"/>
    <connect name="pin_sites" site1="tip" site2="on_ball"/>
    <weld name="weld" body1="hand" body2="floater" anchor="0.1 0.2 0" relpose="0.2 0 0.1 0.8 0.6 0 0"
          torquescale="0.6"/>
    <weld name="weld_world" body1="ball"/>
    <weld name="weld_sites" site1="tip" site2="on_floater"/>
    <joint name="gear" joint1="shoulder" joint2="elbow" polycoef="0.1 0.5 0.2 -0.1 0.05"/>
    <joint name="held" joint1="twist" polycoef="0.2 0 0 0 0"/>
    <tendon name="ropes" tendon1="one" tendon2="other" polycoef="0 2 0.3 0 0"/>
    <tendon name="rope" tendon1="one"/>
    <connect name="idle" body1="hand" anchor="0 0 0" active="false"/>
  </equality>
</mujoco>"""

COMPENSATED = """<mujoco model="compensated">
  <worldbody>
    <body name="a" gravcomp="0.7" pos="0 0 1">
      <joint name="first" axis="0 1 0" actuatorgravcomp="true" actuatorfrcrange="-1 1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0 0"/>
      <body name="b" gravcomp="1.2" pos="0.4 0 0">
        <joint name="second" axis="1 1 0"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0.1 0"/>
        <body name="c" pos="0.4 0 0"><geom type="sphere" size="0.05"/></body>
      </body>
    </body>
    <body name="free" gravcomp="0.5"><freejoint/><geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/></body>
  </worldbody>
  <actuator><motor joint="first"/><motor joint="second" gear="3"/></actuator>
</mujoco>"""

FLUID = """<mujoco model="fluid">
  <option density="1.2" viscosity="0.3" wind="1 -2 0.5"/>
  <worldbody>
    <body name="fin" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="box" size="0.3 0.02 0.1" euler="10 20 30" pos="0.1 0 0"/>
      <body name="tail" pos="0.3 0 0">
        <joint name="wag" axis="0 0 1" pos="-0.02 0 0"/>
        <geom type="ellipsoid" size="0.2 0.05 0.1" pos="0.2 0 0"/>
        <geom type="sphere" size="0.04" pos="0.4 0 0.1"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""

STRINGS = """<mujoco model="strings">
  <worldbody>
    <geom name="ball" type="sphere" size="0.1"/>
    <geom name="rod" type="cylinder" size="0.08 0.3" euler="20 30 0"/>
    <body name="a" pos="0.3 0 0"><freejoint/><geom size="0.01"/><site name="start"/></body>
    <body name="b" pos="-0.2 0.2 0.1"><freejoint/><geom size="0.01"/><site name="end"/></body>
    <body name="c" pos="0 0.1 0.1"><freejoint/><geom size="0.01"/><site name="side"/></body>
  </worldbody>
  <tendon>
    <spatial name="free" range="0.2 0.6" limited="true">
      <site site="start"/><geom geom="ball"/><site site="end"/>
    </spatial>
    <spatial name="on_side"><site site="start"/><geom geom="ball" sidesite="side"/><site site="end"/></spatial>
    <spatial name="round_rod"><site site="start"/><geom geom="rod"/><site site="end"/></spatial>
    <spatial name="on_side_of_rod" range="0.1 0.5" limited="true" margin="0.1">
      <site site="start"/><geom geom="rod" sidesite="side"/><site site="end"/>
    </spatial>
  </tendon>
</mujoco>"""

SWITCHED_OFF = f"""<mujoco model="switched off">
  <option><flag actuation="disable" frictionloss="disable" equality="disable"/></option>{ARM}
  <equality><joint joint1="shoulder" joint2="elbow"/></equality>
  <actuator><motor joint="shoulder" gear="50"/><general joint="elbow" dyntype="filter" dynprm="0.1"/></actuator>
</mujoco>"""

INSTANT = f"""<mujoco model="instant">{ARM}
  <actuator>
    <general joint="elbow" dyntype="filter" dynprm="0"/>
    <general joint="shoulder" dyntype="filterexact" dynprm="0" actearly="true"/>
  </actuator>
</mujoco>"""

MODELS = {
    "strings": STRINGS,
    "switched off": SWITCHED_OFF,
    "instant": INSTANT,
    "tendons": TENDONS,
    "actuators": ACTUATORS,
    "constraints": CONSTRAINTS,
    "compensated": COMPENSATED,
    "fluid": FLUID,
}
