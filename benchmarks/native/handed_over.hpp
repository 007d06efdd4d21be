// A model handed over joint by joint: the headers of Pinocchio have no parser of URDF files, so the caller parses (with
// the same wheel, from Python). For any scalar, and for any collection of joints that has these.

#pragma once

#include <string>

#include <pinocchio/multibody.hpp>

namespace handed_over {

template <class Joints, class JointModel>
bool joint_of(const std::string& type, const double* axis, JointModel& joint) {
  using Scalar = typename JointModel::Scalar;
  const Eigen::Matrix<Scalar, 3, 1> along = Eigen::Map<const Eigen::Vector3d>(axis).cast<Scalar>();
  if (type == "JointModelRX") joint = typename Joints::JointModelRX();
  else if (type == "JointModelRY") joint = typename Joints::JointModelRY();
  else if (type == "JointModelRZ") joint = typename Joints::JointModelRZ();
  else if (type == "JointModelPX") joint = typename Joints::JointModelPX();
  else if (type == "JointModelPY") joint = typename Joints::JointModelPY();
  else if (type == "JointModelPZ") joint = typename Joints::JointModelPZ();
  else if (type == "JointModelRevoluteUnaligned") joint = typename Joints::JointModelRevoluteUnaligned(along);
  else if (type == "JointModelPrismaticUnaligned") joint = typename Joints::JointModelPrismaticUnaligned(along);
  else if (type == "JointModelFreeFlyer") joint = typename Joints::JointModelFreeFlyer();
  else return false;
  return true;
}

template <class Model>
Model* empty(const double* gravity) {
  auto* model = new Model;
  model->gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity).cast<typename Model::Scalar>();
  return model;
}

// Adds a joint and its body: the axis is read by the unaligned joints only, rotations and inertias are row by row (and
// symmetric), the inertia is about the centre of mass. Returns the joint's number, or −1 for a type not known here.
template <class Joints, class Model>
int add(Model& model, int parent, const char* type, const double* axis, const double* rotation,
        const double* translation, double mass, const double* com, const double* inertia, const double* armature) {
  using Scalar = typename Model::Scalar;
  using Matrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
  using Vector3 = Eigen::Map<const Eigen::Vector3d>;
  typename Model::JointModel joint;
  if (!joint_of<Joints>(type, axis, joint)) return -1;
  const typename Model::SE3 placement{Matrix3(rotation).template cast<Scalar>(),
                                      Vector3(translation).template cast<Scalar>()};
  const auto index = model.addJoint(parent, joint, placement, "joint" + std::to_string(model.njoints));
  model.inertias[index] = typename Model::Inertia(Scalar(mass), Vector3(com).template cast<Scalar>(),
                                                  Matrix3(inertia).template cast<Scalar>());
  const auto& added = model.joints[index];
  model.armature.segment(added.idx_v(), added.nv()) =
      Eigen::Map<const Eigen::VectorXd>(armature, added.nv()).cast<Scalar>();
  return static_cast<int>(index);
}

}  // namespace handed_over
