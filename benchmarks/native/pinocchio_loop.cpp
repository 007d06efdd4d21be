// Pinocchio in a native loop: what a C++ user of the library gets, timed over a batch of states on one thread.
//
// Only headers are used, nothing of the wheel's libraries is linked: every template is instantiated here, with the
// vector instructions of this machine. So no choice of alignment, standard library or compiler has to agree with how
// the wheel was built. Joints keep Pinocchio's own types, JointModelRX and so on.
//
// A state is a row: q, v, u are (n, nq), (n, nv), (n, nv) in C order, thus columns here. u is the acceleration of
// inverse dynamics and the force of forward dynamics. When timed, results stay in Pinocchio's Data as it leaves them, or
// each is written to a place of its own, in full.

#include <chrono>
#include <string>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include "handed_over.hpp"

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
auto symmetric(const Data::MatrixXs& upper) { return upper.selfadjointView<Eigen::Upper>(); }
auto symmetric(const Data::RowMatrixXs& upper) { return upper.selfadjointView<Eigen::Upper>(); }

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

// All states; with `out`, each result goes there: so many rows of nv numbers for each state.
template <class Algorithm>
double sweep(Robot& robot, const Rows& q, const Rows& v, const Rows& u, double* out = nullptr, long rows = 0) {
  const long nv = robot.model.nv;
  double sum = 0;
  for (long i = 0; i < q.cols(); ++i) {
    Algorithm::run(robot.model, robot.data, q.col(i), v.col(i), u.col(i));
    if (out == nullptr) sum += Algorithm::sample(robot.data);
    else if (rows == 1) Algorithm::write(robot.model, robot.data, Out(out + i * nv, nv, 1));
    else Algorithm::write(robot.model, robot.data, Out(out + i * rows * nv, rows, nv));
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

// Nanoseconds for each of n states that work takes with an algorithm of this name; −1 where there is none.
template <class Work>
double timed(Robot& robot, const char* algorithm, long n, Work work, const double* q, const double* v,
             const double* u) {
  using Clock = std::chrono::steady_clock;
  const long nq = robot.model.nq, nv = robot.model.nv;
  const Rows Q(q, nq, n), V(v, nv, n), U(u, nv, n);
  const auto start = Clock::now();
  if (!with_algorithm(algorithm, [&](auto chosen) { work(chosen, Q, V, U); })) return -1;
  const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
  return elapsed.count() / static_cast<double>(n);
}

}  // namespace

EXPORT Model* model_new(const double* gravity) { return handed_over::empty<Model>(gravity); }

EXPORT int model_add(Model* model, int parent, const char* type, const double* axis, const double* rotation,
                     const double* translation, double mass, const double* com, const double* inertia,
                     const double* armature) {
  return handed_over::add<pinocchio::JointCollectionDefault>(*model, parent, type, axis, rotation, translation, mass,
                                                             com, inertia, armature);
}

// Takes the model over.
EXPORT Robot* robot_new(Model* model) {
  auto* robot = new Robot{*model, Data(*model)};
  delete model;
  return robot;
}

EXPORT void robot_delete(Robot* robot) { delete robot; }

// The whole result for each state, row-major: (n, rows, nv), with 1 row for a vector, nv for a matrix, 3 nv for the
// derivatives (by q, by v, and M or its inverse). Returns nanoseconds per evaluation, −1 for an unknown algorithm.
EXPORT double evaluate(Robot* robot, const char* algorithm, long n, long rows, const double* q, const double* v,
                       const double* u, double* out) {
  return timed(*robot, algorithm, n, [&](auto chosen, const Rows& Q, const Rows& V, const Rows& U) {
    sweep<decltype(chosen)>(*robot, Q, V, U, out, rows);
  }, q, v, u);
}

// Nanoseconds per evaluation, results left in Pinocchio's Data; −1 for an unknown algorithm. The checksum is the sum of
// one number of each result, so that no evaluation can be left out.
EXPORT double nanoseconds(Robot* robot, const char* algorithm, long n, const double* q, const double* v,
                          const double* u, double* checksum) {
  return timed(*robot, algorithm, n, [&](auto chosen, const Rows& Q, const Rows& V, const Rows& U) {
    *checksum = sweep<decltype(chosen)>(*robot, Q, V, U);
  }, q, v, u);
}
