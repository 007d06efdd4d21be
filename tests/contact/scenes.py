"""Random contact problems of rigid bodies: W = J M⁻¹ Jᵀ and b = J v, so that rest is always an allowed answer."""

import numpy as np


def cross(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def faces(seed, bodies=1, points=4, ratio=1.0, friction=(0.0, 1.5), squeezed=False):
    """W, b, mu, and J and M: each body lies with a face of `points` points on the one before, the first on the ground.

    Masses spread over `ratio`; faces look anywhere. With `squeezed`, the last body touches the ground as well, so that
    all others are between.
    """
    rng = np.random.default_rng([seed, bodies, points])
    masses = 10 ** rng.uniform(-np.log10(ratio) / 2, np.log10(ratio) / 2, bodies)
    sizes = rng.uniform(0.1, 1.0, bodies)
    M = np.zeros((6 * bodies, 6 * bodies))
    for k, (m, size) in enumerate(zip(masses, sizes, strict=True)):
        M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = m * np.eye(3)
        M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = m * size**2 * np.diag(rng.uniform(0.1, 0.3, 3))
    pairs = [(k - 1, k) for k in range(bodies)] + [(-1, bodies - 1)] * squeezed
    J = []
    for below, above in pairs:
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0].T  # normal and tangents
        half = sizes[above] / 2
        for k in range(points):
            angle = 2 * np.pi * (k + 0.5) / points
            corner = half * (np.cos(angle) * axes[1] + np.sin(angle) * axes[2])
            rows = np.zeros((3, 6 * bodies))
            rows[:, 6 * above : 6 * above + 3] = axes
            rows[:, 6 * above + 3 : 6 * above + 6] = -axes @ cross(corner - half * axes[0])
            if below >= 0:
                rows[:, 6 * below : 6 * below + 3] = -axes
                rows[:, 6 * below + 3 : 6 * below + 6] = axes @ cross(corner + sizes[below] / 2 * axes[0])
            J.append(rows)
    J = np.vstack(J)
    W = J @ np.linalg.solve(M, J.T)
    mu = rng.uniform(*friction, len(J) // 3)
    mu[rng.random(len(mu)) < 0.1] = 0.0
    return (W + W.T) / 2, J @ rng.normal(size=6 * bodies), mu, J, M


def lists(*arrays):
    return [np.asarray(a).tolist() for a in arrays]
