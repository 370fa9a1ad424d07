// Decision values of many support vector machines from kernel values, and weights of features from coefficients.
//
// tests/engines/svm/test_scoring.py compares with matrix products.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "support/wide.hpp"
#include "svm/linear.hpp"

namespace fuselearn::svm {

// Coefficients of support vectors: those of one machine per row.
template <class Value>
struct Machines {
    std::span<const std::int32_t> support;
    Matrix<const Value> coefficients;  // (n_machines, n_support)
};

// Write the decision values of the asked samples, whose kernel values are rows of `values`: for each asked one as many
// products as there are coefficients. Sums are in double precision and do not depend on what else is asked.
inline void decide(Matrix<const float> values, std::span<const std::int64_t> asked, const Machines<float>& machines,
                   std::span<const double> intercepts, Matrix<double> decisions, Interrupt& interrupt) {
    const Index n_support = ssize(machines.support);
    const auto flat = machines.coefficients.flat();
    const std::vector<double> coefficients(flat.begin(), flat.end());
    std::vector<double> picked(static_cast<std::size_t>(n_support));
    for (Index r = 0; r < ssize(asked); ++r) {
        interrupt.check();
        const std::span<const float> row = values.row(asked[r]);
        for (Index s = 0; s < n_support; ++s) picked[s] = static_cast<double>(row[machines.support[s]]);
        for (Index c = 0; c < ssize(intercepts); ++c)
            decisions(r, c) =
                intercepts[c] + vectorized<multiply_dense<double>>(coefficients.data() + c * n_support,
                                                                   std::as_const(picked).data(), n_support);
    }
}

// Turn coefficients of samples into weights of features, which give the same products. `weights` start at zero.
inline void collapse(Matrix<const double> X, const Machines<double>& machines, Matrix<double> weights,
                     Interrupt& interrupt) {
    for (Index s = 0; s < ssize(machines.support); ++s) {
        interrupt.check();
        const double* const sample = X.row(machines.support[s]).data();
        for (Index c = 0; c < weights.n_rows(); ++c)
            if (const double coefficient = machines.coefficients(c, s); coefficient != 0.0)
                vectorized<add_dense<double>>(weights.row(c).data(), sample, coefficient, X.n_columns());
    }
}

}  // namespace fuselearn::svm
