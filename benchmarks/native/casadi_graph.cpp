// Pinocchio over CasADi's scalar: its algorithms, run once for one robot on symbols, leave behind the arithmetic they
// did. What is recorded is saved as a casadi::Function; the caller makes C of it.
//
// The wheel `pin` has the headers for this (pinocchio/autodiff/casadi.hpp) but no module pinocchio.casadi, hence this
// file. Nothing here is timed.

// Pinocchio asks a joint whether it is one that mimics another; among the few joints below there is none.
#define BOOST_VARIANT_USE_RELAXED_GET_BY_DEFAULT

#include <string>
#include <vector>

#include <pinocchio/autodiff/casadi.hpp>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include "handed_over.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using casadi::SX;
using Vector = Eigen::Matrix<SX, Eigen::Dynamic, 1>;

// The joints of the benchmarks. With all that Pinocchio knows, compiling takes more than twice the time and memory.
template <class Scalar, int options>
struct Joints : pinocchio::JointCollectionDefaultTpl<Scalar, options> {
  using All = pinocchio::JointCollectionDefaultTpl<Scalar, options>;
  using JointModelVariant =
      boost::variant<typename All::JointModelRX, typename All::JointModelRY, typename All::JointModelRZ,
                     typename All::JointModelPX, typename All::JointModelPY, typename All::JointModelPZ,
                     typename All::JointModelRevoluteUnaligned, typename All::JointModelPrismaticUnaligned,
                     typename All::JointModelFreeFlyer>;
  using JointDataVariant =
      boost::variant<typename All::JointDataRX, typename All::JointDataRY, typename All::JointDataRZ,
                     typename All::JointDataPX, typename All::JointDataPY, typename All::JointDataPZ,
                     typename All::JointDataRevoluteUnaligned, typename All::JointDataPrismaticUnaligned,
                     typename All::JointDataFreeFlyer>;
};

using Known = Joints<SX, 0>;
using Model = pinocchio::ModelTpl<SX, 0, Joints>;
using Data = pinocchio::DataTpl<SX, 0, Joints>;

template <class Derived>
SX as_casadi(const Eigen::MatrixBase<Derived>& matrix) {
  SX result;
  pinocchio::casadi::copy(matrix, result);
  return result;
}

// The results of an algorithm, empty for one not known here. Of symmetric matrices only the upper triangle means
// something, and derivatives by q are by steps of the tangent space: all as Pinocchio leaves it in its Data.
// Where it has two conventions, the local one takes fewer operations for every robot of the benchmarks.
std::vector<SX> results(const std::string& algorithm, const Model& model, const Vector& q, const Vector& v,
                        const Vector& u) {
  constexpr auto convention = pinocchio::Convention::LOCAL;
  Data data(model);
  if (algorithm == "rnea") return {as_casadi(pinocchio::rnea(model, data, q, v, u))};
  if (algorithm == "aba") return {as_casadi(pinocchio::aba(model, data, q, v, u, convention))};
  if (algorithm == "crba") return {as_casadi(pinocchio::crba(model, data, q, convention))};
  if (algorithm == "computeMinverse") return {as_casadi(pinocchio::computeMinverse(model, data, q))};
  if (algorithm == "computeRNEADerivatives") {
    pinocchio::computeRNEADerivatives(model, data, q, v, u);
    return {as_casadi(data.dtau_dq), as_casadi(data.dtau_dv), as_casadi(data.M)};
  }
  if (algorithm == "computeABADerivatives") {
    pinocchio::computeABADerivatives(model, data, q, v, u);
    return {as_casadi(data.ddq_dq), as_casadi(data.ddq_dv), as_casadi(data.Minv)};
  }
  return {};
}

}  // namespace

EXPORT Model* model_new(const double* gravity) { return handed_over::empty<Model>(gravity); }

EXPORT int model_add(Model* model, int parent, const char* type, const double* axis, const double* rotation,
                     const double* translation, double mass, const double* com, const double* inertia,
                     const double* armature) {
  return handed_over::add<Known>(*model, parent, type, axis, rotation, translation, mass, com, inertia, armature);
}

EXPORT void model_delete(Model* model) { delete model; }

// Saves the algorithm as a function of (q, v, u). Returns 0, or −1 for an unknown algorithm.
EXPORT int record(const Model* model, const char* algorithm, const char* path) {
  Vector q(model->nq), v(model->nv), u(model->nv);
  pinocchio::casadi::sym(q, "q");
  pinocchio::casadi::sym(v, "v");
  pinocchio::casadi::sym(u, "u");
  const auto recorded = results(algorithm, *model, q, v, u);
  if (recorded.empty()) return -1;
  casadi::Function("recorded", {as_casadi(q), as_casadi(v), as_casadi(u)}, recorded).save(path);
  return 0;
}
