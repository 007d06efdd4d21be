// A loop over states around one function that CasADi generated: the text of the file GENERATED, the function
// `evaluate` in it. NQ and NV are the sizes of the robot's q and v.

#include GENERATED

#include <time.h>

static double nanoseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

// Nanoseconds per evaluation over n states: q, v, u are rows next to each other. Every state's results go to the same
// place, 3 NV NV numbers that stay in the cache, as Pinocchio's own stay in its Data.
double nanoseconds(long n, const double* q, const double* v, const double* u, double* out) {
  const double start = nanoseconds_now();
  for (long i = 0; i < n; ++i) {
    const double* arguments[] = {q + i * NQ, v + i * NV, u + i * NV};
    double* results[] = {out, out + NV * NV, out + 2 * NV * NV};
    evaluate(arguments, results, 0, 0, 0);
    __asm__ volatile("" : : "r"(out) : "memory");  // someone may look at out: no evaluation can be left out
  }
  return (nanoseconds_now() - start) / (double)n;
}
