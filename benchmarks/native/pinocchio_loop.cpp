// Pinocchio in a native loop: what a C++ user of the library gets, timed over a batch of states on one thread.
//
// Only headers are used, nothing of the wheel's libraries is linked: every template is instantiated here, with the
// vector instructions of this machine. So no choice of alignment, standard library or compiler has to agree with how
// the wheel was built. The parser of URDF files is the one thing the headers lack; the caller parses (with the same
// wheel, from Python) and hands the joints over one by one. Joints keep Pinocchio's own types, JointModelRX and so on.
//
// A state is a row: q, v, u are (n, nq), (n, nv), (n, nv) in C order, thus columns here. u is the acceleration of
// inverse dynamics and the force of forward dynamics. Results stay in Pinocchio's Data when timed, as it leaves them.

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using pinocchio::Convention;
using pinocchio::Data;
using pinocchio::Model;
using Eigen::MatrixXd;
using Rows = Eigen::Map<const MatrixXd>;
using Out = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

struct Robot {
  Model model;
  Data data;
};

// Each algorithm: run it, name one number of its result (for the checksum), write out its whole result.

template <Convention convention>
struct Aba {
  template <class Q, class V>
  static void run(const Model& model, Data& data, const Q& q, const V& v, const V& u) {
    pinocchio::aba(model, data, q, v, u, convention);
  }
  static double sample(const Data& data) { return data.ddq[0]; }
  static void write(const Model&, Data& data, Out out) { out = data.ddq; }
};

struct Rnea {
  template <class Q, class V>
  static void run(const Model& model, Data& data, const Q& q, const V& v, const V& u) {
    pinocchio::rnea(model, data, q, v, u);
  }
  static double sample(const Data& data) { return data.tau[0]; }
  static void write(const Model&, Data& data, Out out) { out = data.tau; }
};

// Pinocchio fills the upper triangle of a symmetric matrix.
MatrixXd symmetric(const MatrixXd& upper) { return upper.selfadjointView<Eigen::Upper>(); }

template <Convention convention>
struct Crba {
  template <class Q, class V>
  static void run(const Model& model, Data& data, const Q& q, const V&, const V&) {
    pinocchio::crba(model, data, q, convention);
  }
  static double sample(const Data& data) { return data.M(0, 0); }
  static void write(const Model&, Data& data, Out out) { out = symmetric(data.M); }
};

struct Minverse {
  template <class Q, class V>
  static void run(const Model& model, Data& data, const Q& q, const V&, const V&) {
    pinocchio::computeMinverse(model, data, q);
  }
  static double sample(const Data& data) { return data.Minv(0, 0); }
  static void write(const Model&, Data& data, Out out) { out = symmetric(data.Minv); }
};

struct RneaDerivatives {
  template <class Q, class V>
  static void run(const Model& model, Data& data, const Q& q, const V& v, const V& u) {
    pinocchio::computeRNEADerivatives(model, data, q, v, u);
  }
  static double sample(const Data& data) { return data.dtau_dq(0, 0) + data.dtau_dv(0, 0) + data.M(0, 0); }
  static void write(const Model& model, Data& data, Out out) {
    out.topRows(model.nv) = data.dtau_dq;
    out.middleRows(model.nv, model.nv) = data.dtau_dv;
    out.bottomRows(model.nv) = symmetric(data.M);
  }
};

struct AbaDerivatives {
  template <class Q, class V>
  static void run(const Model& model, Data& data, const Q& q, const V& v, const V& u) {
    pinocchio::computeABADerivatives(model, data, q, v, u);
  }
  static double sample(const Data& data) { return data.ddq_dq(0, 0) + data.ddq_dv(0, 0) + data.Minv(0, 0); }
  static void write(const Model& model, Data& data, Out out) {
    out.topRows(model.nv) = data.ddq_dq;
    out.middleRows(model.nv, model.nv) = data.ddq_dv;
    out.bottomRows(model.nv) = symmetric(data.Minv);
  }
};

template <class Algorithm>
double sweep(Robot& robot, const Rows& q, const Rows& v, const Rows& u) {
  double sum = 0;
  for (long i = 0; i < q.cols(); ++i) {
    Algorithm::run(robot.model, robot.data, q.col(i), v.col(i), u.col(i));
    sum += Algorithm::sample(robot.data);
  }
  return sum;
}

// Calls work with an object of the algorithm's type; false where there is none of that name.
template <class Work>
bool with_algorithm(const std::string& name, Work work) {
  if (name == "rnea") work(Rnea{});
  else if (name == "aba") work(Aba<Convention::LOCAL>{});
  else if (name == "aba (world)") work(Aba<Convention::WORLD>{});
  else if (name == "crba") work(Crba<Convention::LOCAL>{});
  else if (name == "crba (world)") work(Crba<Convention::WORLD>{});
  else if (name == "computeRNEADerivatives") work(RneaDerivatives{});
  else if (name == "computeABADerivatives") work(AbaDerivatives{});
  else if (name == "computeMinverse") work(Minverse{});
  else return false;
  return true;
}

bool joint_of(const std::string& type, const double* axis, pinocchio::JointModel& joint) {
  const Eigen::Vector3d along(axis[0], axis[1], axis[2]);
  if (type == "JointModelRX") joint = pinocchio::JointModelRX();
  else if (type == "JointModelRY") joint = pinocchio::JointModelRY();
  else if (type == "JointModelRZ") joint = pinocchio::JointModelRZ();
  else if (type == "JointModelPX") joint = pinocchio::JointModelPX();
  else if (type == "JointModelPY") joint = pinocchio::JointModelPY();
  else if (type == "JointModelPZ") joint = pinocchio::JointModelPZ();
  else if (type == "JointModelRevoluteUnaligned") joint = pinocchio::JointModelRevoluteUnaligned(along);
  else if (type == "JointModelPrismaticUnaligned") joint = pinocchio::JointModelPrismaticUnaligned(along);
  else if (type == "JointModelFreeFlyer") joint = pinocchio::JointModelFreeFlyer();
  else return false;
  return true;
}

}  // namespace

EXPORT Model* model_new(const double* gravity) {
  auto* model = new Model;
  model->gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
  return model;
}

// Adds a joint and its body: the axis is read by the unaligned joints only, rotations and inertias are row by row (and
// symmetric), the inertia is about the centre of mass. Returns the joint's number, or −1 for a type not known here.
EXPORT int model_add(Model* model, int parent, const char* type, const double* axis, const double* rotation,
                     const double* translation, double mass, const double* com, const double* inertia,
                     const double* armature) {
  pinocchio::JointModel joint;
  if (!joint_of(type, axis, joint)) return -1;
  using Matrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  using Vector3 = Eigen::Map<const Eigen::Vector3d>;
  const pinocchio::SE3 placement{Eigen::Map<const Matrix3>(rotation), Vector3(translation)};
  const auto index = model->addJoint(parent, joint, placement, "joint" + std::to_string(model->njoints));
  model->inertias[index] = pinocchio::Inertia(mass, Vector3(com), Eigen::Map<const Matrix3>(inertia));
  const auto& added = model->joints[index];
  model->armature.segment(added.idx_v(), added.nv()) = Eigen::Map<const Eigen::VectorXd>(armature, added.nv());
  return static_cast<int>(index);
}

// Takes the model over.
EXPORT Robot* robot_new(Model* model) {
  auto* robot = new Robot{*model, Data(*model)};
  delete model;
  return robot;
}

EXPORT void robot_delete(Robot* robot) { delete robot; }

// The whole result for each state, row-major: (n, rows, nv), with 1 row for a vector, nv for a matrix, 3 nv for the
// derivatives (by q, by v, and M or its inverse). Not for timing. Returns 0, or −1 for an unknown algorithm.
EXPORT int evaluate(Robot* robot, const char* algorithm, long n, long rows, const double* q, const double* v,
                    const double* u, double* out) {
  const long nq = robot->model.nq, nv = robot->model.nv;
  const Rows Q(q, nq, n), V(v, nv, n), U(u, nv, n);
  const bool known = with_algorithm(algorithm, [&](auto chosen) {
    using Algorithm = decltype(chosen);
    for (long i = 0; i < n; ++i) {
      Algorithm::run(robot->model, robot->data, Q.col(i), V.col(i), U.col(i));
      double* place = out + i * rows * nv;
      if (rows == 1) Algorithm::write(robot->model, robot->data, Out(place, nv, 1));
      else Algorithm::write(robot->model, robot->data, Out(place, rows, nv));
    }
  });
  return known ? 0 : -1;
}

// Nanoseconds per evaluation, the best of so many sweeps over the batch; −1 for an unknown algorithm. The checksum is
// the sum of one number of each result, so that no evaluation can be left out.
EXPORT double nanoseconds(Robot* robot, const char* algorithm, long n, const double* q, const double* v,
                          const double* u, int repeats, double* checksum) {
  using Clock = std::chrono::steady_clock;
  const long nq = robot->model.nq, nv = robot->model.nv;
  const Rows Q(q, nq, n), V(v, nv, n), U(u, nv, n);
  double best = std::numeric_limits<double>::infinity();
  const bool known = with_algorithm(algorithm, [&](auto chosen) {
    for (int k = 0; k < repeats; ++k) {
      const auto start = Clock::now();
      *checksum = sweep<decltype(chosen)>(*robot, Q, V, U);
      const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
      best = std::min(best, elapsed.count() / static_cast<double>(n));
    }
  });
  return known ? best : -1;
}
