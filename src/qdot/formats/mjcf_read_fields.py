"""What becomes of each field of a compiled MuJoCo model: the table that nothing falls through.

A name with a star stands for all fields that begin so. A field that a later MuJoCo has and this table has not is told
in the report; a test holds the table against the MuJoCo that is installed.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

TAKEN = """
    nu nactuator nbody njnt ngeom nsite nmesh nhfield nmat npair nexclude neq ntendon nsensor nkey nmocap nq nv
    names name_* opt qpos0 qpos_spring
    body_parentid body_mocapid body_jntnum body_jntadr body_pos body_quat body_ipos body_iquat body_mass body_inertia
    body_gravcomp
    jnt_type jnt_qposadr jnt_dofadr jnt_bodyid jnt_limited jnt_actfrclimited jnt_actgravcomp jnt_solref
    jnt_solimp jnt_pos jnt_axis jnt_stiffness jnt_range jnt_actfrcrange jnt_margin
    dof_jntid dof_solref dof_solimp dof_frictionloss dof_armature dof_damping
    geom_type geom_contype geom_conaffinity geom_condim geom_bodyid geom_dataid geom_matid geom_group geom_priority
    geom_solmix geom_solref geom_solimp geom_size geom_pos geom_quat geom_friction geom_margin geom_gap geom_rgba
    site_type site_bodyid site_dataid site_matid site_group site_size site_pos site_quat site_rgba
    mesh_vertadr mesh_vertnum mesh_faceadr mesh_facenum mesh_vert mesh_face
    hfield_size hfield_nrow hfield_ncol hfield_adr hfield_data
    mat_rgba
    pair_dim pair_geom1 pair_geom2 pair_solref pair_solreffriction pair_solimp pair_margin pair_gap pair_friction
    exclude_signature
    eq_type eq_obj1id eq_obj2id eq_objtype eq_active0 eq_solref eq_solimp eq_data
    tendon_adr tendon_num tendon_matid tendon_limited tendon_actfrclimited tendon_width
    tendon_solref_lim tendon_solimp_lim tendon_solref_fri tendon_solimp_fri tendon_range tendon_actfrcrange
    tendon_margin tendon_stiffness tendon_damping tendon_armature tendon_frictionloss tendon_lengthspring
    tendon_length0 tendon_rgba
    wrap_type wrap_objid wrap_prm
    actuator_trntype actuator_dyntype actuator_gaintype actuator_biastype actuator_ctrladr actuator_ctrlnum
    actuator_outadr actuator_outnum actuator_actadr actuator_trnid actuator_cranklength actuator_dynprm
    actuator_gainprm actuator_biasprm actuator_actlimited actuator_actrange actuator_actearly actuator_damping
    actuator_armature actuator_group actuator_forcelimited actuator_forcerange actuator_ctrllimited actuator_ctrlrange
    actuator_gear
    sensor_type sensor_objtype sensor_objid sensor_reftype sensor_refid sensor_dim sensor_cutoff sensor_noise
    key_time key_qpos key_qvel key_act key_ctrl
"""
"""Read into records (name_*: names of things that are left out are left out with them)."""

DERIVED = """
    nout na nbvh* noct ntree nM nB nC nD nJ* nefm* nmeshvert nmeshnormal nmeshface nmeshgraph nmeshpoly* nmeshdegmax
    npolygonmax nhfielddata nwrap nsensordata nnames nnames_map npaths nemax njmax nconmax narena nbuffer ngravcomp
    nhistory npluginattr npluginstate nplastic signature flg_gravcomp names_map paths
    body_rootid body_weldid body_dofnum body_dofadr body_treeid body_geomnum body_geomadr body_simple body_sameframe
    body_subtreemass body_invweight0 body_margin body_contype body_conaffinity body_bvhadr body_bvhnum
    bvh_* oct_* tree_bodyadr tree_bodynum tree_dofadr tree_dofnum
    dof_bodyid dof_parentid dof_treeid dof_Madr dof_simplenum dof_invweight0 dof_M0 dof_length
    jnt_actuatorid tendon_actuatorid jnt_plasticadr geom_sameframe geom_aabb geom_rbound site_sameframe
    mesh_bvhadr mesh_bvhnum mesh_octadr mesh_octnum mesh_normaladr mesh_normalnum mesh_graphadr mesh_extrema
    mesh_normal mesh_facenormal mesh_graph mesh_scale mesh_pos mesh_quat mesh_pathadr mesh_poly* hfield_pathadr
    pair_signature efm0_* efmC_*
    tendon_type tendon_plasticadr tendon_treenum tendon_treeid tendon_invweight0 ten_J_*
    actuator_historyadr actuator_acc0 actuator_length0 actuator_lengthrange actuator_actnum actuator_ctrlspec
    sensor_datatype sensor_needstage sensor_adr sensor_historyadr
    plugin_stateadr plugin_statenum plugin_attradr
    B_* M_* D_* mapM2M mapM2D mapD2M
"""
"""Follow from what is read, or serve MuJoCo's own speed."""

IGNORED = """
    ncam nlight nskin* ntex ntexdata nmeshtexcoord nnumeric nnumericdata ntext ntextdata ntuple ntupledata nuser*
    cam_* light_* skin_* tex_* text_* numeric_* tuple_* vis stat *_user
    mat_tex* mat_emission mat_specular mat_shininess mat_reflectance mat_metallic mat_roughness
    mesh_texcoord* mesh_facetexcoord jnt_group tendon_group geom_castshadow tree_sleep_policy
    sensor_history sensor_delay sensor_interval sensor_intprm key_mpos key_mquat
"""
"""Without a part in the motion; told in the report where a file uses them."""

REPORTED = """
    nflex* nplugin plugin plugin_attr *_plugin flex_* flexedge_* flg_surfacevel flg_adhesion
    jnt_stiffnesspoly jnt_springyield dof_dampingpoly tendon_stiffnesspoly tendon_dampingpoly tendon_springyield
    geom_surfacevel geom_adhesion geom_fluid pair_adhesion
    actuator_history actuator_delay actuator_dampingpoly key_plastic
"""
"""With a part in the motion that has no record: told in the report where a file uses them, as PHYSICS."""

OPTIONS_TAKEN = """
    timestep impratio tolerance gravity wind density viscosity integrator cone solver iterations noslip_iterations
    noslip_tolerance disableflags enableflags disableactuator
"""
OPTIONS_IGNORED: dict[str, Any] = {
    "ls_tolerance": 0.01,
    "ccd_tolerance": 1e-6,
    "sleep_tolerance": 1e-3,
    "magnetic": (0.0, -0.5, 0.0),
    "jacobian": 2,
    "ls_iterations": 50,
    "ccd_iterations": 35,
    "sdf_initpoints": 40,
    "sdf_iterations": 10,
}
"""How exactly MuJoCo's solvers work, and the Earth's magnetic field, with their values in a file that says nothing."""

OPTIONS_OVERRIDE = "o_margin o_solref o_solimp o_friction"
"""Contact parameters in place of every geom's own, where the flag "override" is set."""


@lru_cache(maxsize=4)
def unknown_fields(kind: Any, *tables: str) -> tuple[str, ...]:
    """The fields of a type of MuJoCo's that stand in none of the tables."""
    patterns = [pattern for table in tables for pattern in table.split()]
    plain = {pattern for pattern in patterns if "*" not in pattern}
    starred = [pattern for pattern in patterns if "*" in pattern]
    fields = [name for name in dir(kind) if name[0] != "_" and isinstance(getattr(kind, name), property)]
    return tuple(
        name for name in fields if name not in plain and not any(fnmatchcase(name, pattern) for pattern in starred)
    )
