// Sums of products, and sums of multiples of vectors.
//
// Sums over elements are kept in lanes and put together in a fixed order, so that compilers can use vector instructions
// and results are the same on every platform. tests/core/test_kernels.py compares with matrix products.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "support/wide.hpp"

namespace fuselearn::svm {

template <class Value>
double multiply(const Value* __restrict values, const double* __restrict weights, Index n) {
    constexpr Index lanes = 16;
    std::array<double, lanes> sums{};
    Index k = 0;
    for (; k + lanes <= n; k += lanes)
        for (Index l = 0; l < lanes; ++l) sums[l] += static_cast<double>(values[k + l]) * weights[k + l];
    double rest = 0.0;
    for (; k < n; ++k) rest += static_cast<double>(values[k]) * weights[k];
    const auto of_four = [&](Index l) { return (sums[l] + sums[l + 1]) + (sums[l + 2] + sums[l + 3]); };
    return ((of_four(0) + of_four(4)) + (of_four(8) + of_four(12))) + rest;
}

template <class Value>
void add_multiple(double* __restrict sums, const Value* __restrict values, double factor, Index n) {
    for (Index k = 0; k < n; ++k) sums[k] += factor * static_cast<double>(values[k]);
}

// Four at a time, as the sum costs more than the products.
template <class Value>
void add_four_multiples(double* __restrict sums, std::array<const Value*, 4> rows, std::array<double, 4> factors,
                        Index n) {
    const auto [a, b, c, d] = rows;
    const auto [times_a, times_b, times_c, times_d] = factors;
    for (Index k = 0; k < n; ++k) sums[k] += (times_a * a[k] + times_b * b[k]) + (times_c * c[k] + times_d * d[k]);
}

// Add multiples of some rows of a matrix.
template <class Value>
void add_rows(std::span<double> sums, Matrix<const Value> matrix, std::span<const std::int32_t> rows,
              std::span<const double> factors) {
    std::array<const Value*, 4> four{};
    std::array<double, 4> times{};
    Index n_waiting = 0;
    for (Index k = 0; k < ssize(rows); ++k) {
        if (factors[k] == 0.0) continue;
        four[n_waiting] = matrix.row(rows[k]).data();
        times[n_waiting] = factors[k];
        if (++n_waiting == 4) {
            vectorized<add_four_multiples<Value>>(sums.data(), four, times, ssize(sums));
            n_waiting = 0;
        }
    }
    if (n_waiting == 0) return;
    // The last four are not full: the missing rows count nothing.
    for (Index missing = n_waiting; missing < 4; ++missing) {
        four[missing] = four[0];
        times[missing] = 0.0;
    }
    vectorized<add_four_multiples<Value>>(sums.data(), four, times, ssize(sums));
}

}  // namespace fuselearn::svm
