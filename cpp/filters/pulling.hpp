// The measurement update of a Kalman filter with a scalar variance: x <- x + K (z - x), in place.
//
// One pass over the state x, without temporary arrays. tests/fusion/test_kalman.py compares with NumPy.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "support/views.hpp"

namespace fuselearn {

inline void pull(std::span<double> state, std::span<const double> measurement, double gain) {
    for (Index k = 0; k < ssize(state); ++k) state[k] += gain * (measurement[k] - state[k]);
}

// The same for the measurement z = (x + one_hot(votes)) / 2, which is not written out; votes are indices of columns.
inline void pull_halfway(Matrix<double> state, std::span<const std::int32_t> votes, double gain) {
    constexpr Index block_size = 64;
    std::array<double, block_size> voted;
    const Index n_columns = state.n_columns();
    for (Index start = 0; start < state.n_rows(); start += block_size) {
        const Index n_rows = std::min(block_size, state.n_rows() - start);
        for (Index i = 0; i < n_rows; ++i) voted[i] = state(start + i, votes[start + i]);
        // First all entries as if there were no vote: a flat loop is vectorized even with few columns.
        for (double& entry : state.flat().subspan(start * n_columns, n_rows * n_columns))
            entry += gain * (0.5 * entry - entry);
        for (Index i = 0; i < n_rows; ++i)
            state(start + i, votes[start + i]) = voted[i] + gain * (0.5 * (voted[i] + 1.0) - voted[i]);
    }
}

}  // namespace fuselearn
