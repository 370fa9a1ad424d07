// Decision values of many support vector machines from kernel values, and weights of features from coefficients.
//
// tests/core/test_kernels.py compares with matrix products.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "support/wide.hpp"
#include "svm/sums.hpp"

namespace fuselearn::svm {

// Coefficients of support vectors, one SVM per row.
template <class Value>
struct Machines {
    std::span<const std::int32_t> support;
    Matrix<const Value> coefficients;  // (n_svms, n_support)
};

// Fraction of training samples; with more support vectors, multiplying by zeros is cheaper than gathering kernel
// values.
constexpr double dense_fraction = 0.3;

// Write the decision values of the requested samples, whose kernel values are rows of `values`. Sums are in double
// precision and do not depend on the other samples.
inline void decide(Matrix<const float> values, std::span<const std::int64_t> asked, const Machines<float>& machines,
                   std::span<const double> intercepts, Matrix<double> decisions, Interrupt& interrupt) {
    const Index n_machines = ssize(intercepts);
    const Index n_support = ssize(machines.support);
    const bool is_dense = static_cast<double>(n_support) > dense_fraction * static_cast<double>(values.n_columns());
    const Index width = is_dense ? values.n_columns() : n_support;
    std::vector<double> coefficients(static_cast<std::size_t>(n_machines * width), 0.0);
    for (Index c = 0; c < n_machines; ++c)
        for (Index s = 0; s < n_support; ++s)
            coefficients[c * width + (is_dense ? machines.support[s] : s)] += machines.coefficients(c, s);

    std::vector<float> picked(static_cast<std::size_t>(n_support));
    for (Index r = 0; r < ssize(asked); ++r) {
        interrupt.check();
        const float* row = values.row(asked[r]).data();
        if (!is_dense) {
            for (Index s = 0; s < n_support; ++s) picked[s] = row[machines.support[s]];
            row = picked.data();
        }
        for (Index c = 0; c < n_machines; ++c)
            decisions(r, c) =
                intercepts[c] + vectorized<multiply<float>>(row, std::as_const(coefficients).data() + c * width, width);
    }
}

// Convert coefficients of samples to weights of features with the same products. `weights` must be initialized to zero.
inline void collapse(Matrix<const double> X, const Machines<double>& machines, Matrix<double> weights,
                     Interrupt& interrupt) {
    for (Index c = 0; c < weights.n_rows(); ++c) {
        interrupt.check();
        add_rows(weights.row(c), X, machines.support, machines.coefficients.row(c));
    }
}

}  // namespace fuselearn::svm
