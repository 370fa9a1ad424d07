// Sequential minimal optimization of a weighted support vector machine.
//
// With signs y_i of -1 or 1, kernel values K_ij and an upper bound c_i per sample, the solver maximizes
//
//     sum_i y_i b_i - 1/2 sum_ij b_i b_j K_ij,   where   sum_i b_i = 0   and   0 <= y_i b_i <= c_i.
//
// The coefficients b_i are those of the decision function f(x) = sum_i b_i K(x, x_i) + intercept. A sample drawn w
// times has the bound c_i = C w: the optimum is the same as with w copies of it. The residual r_i = y_i - sum_j b_j
// K_ij is the gradient. At the optimum no residual of a sample that may rise exceeds that of a sample that may fall.
// Each step moves one such pair, the second of the two chosen for the largest gain, and costs two passes over the
// samples.
//
// R.-E. Fan, P.-H. Chen, C.-J. Lin: Working set selection using second order information for training support vector
// machines. Journal of Machine Learning Research 6, 2005. tests/core/test_smo.py compares with libsvm.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "svm/steps.hpp"
#include "svm/sums.hpp"

namespace fuselearn::svm {

using Reals = std::vector<double>;
using Samples = std::vector<std::int32_t>;
using GramMatrix = Matrix<const float>;  // symmetric

// Of the tolerance: how far float32 residuals may be from the true ones.
constexpr double tolerated_drift = 0.05;
// Of the samples: with more unsettled ones, a copy of their part of the Gram matrix costs more than it saves.
constexpr double largest_part = 0.5;
// Of a bound: what rounding may keep a coefficient off it.
constexpr double rounding = 1e-9;

struct Effort {
    Index max_steps;
    double tolerance;
};

struct Question {
    Question(GramMatrix gram_, std::span<const double> signs_, std::span<const double> bounds)
        : gram(gram_), signs(signs_) {
        set_bounds(bounds);
    }

    // A bound is C times the weight of a sample.
    void set_bounds(std::span<const double> bounds) {
        upper.resize(signs.size());
        lower.resize(signs.size());
        for (Index k = 0; k < size(); ++k) {
            upper[k] = signs[k] > 0 ? bounds[k] : 0.0;
            lower[k] = signs[k] > 0 ? 0.0 : -bounds[k];
        }
    }
    Index size() const { return ssize(signs); }

    GramMatrix gram;
    std::span<const double> signs;  // -1 or 1
    Reals upper, lower;             // limits of the coefficients
};

inline Samples all_samples(Index n) {
    Samples all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

struct Solution {
    explicit Solution(std::span<const double> signs)
        : coefficients(signs.size(), 0.0), residuals(signs.begin(), signs.end()) {}

    Reals coefficients;
    Reals residuals;  // y - K b, so that the decision values are y - residuals + intercept
};

// Copy the kernel values between some samples.
inline void take_block(GramMatrix gram, const Samples& samples, Matrix<float> block, Interrupt& interrupt) {
    for (Index i = 0; i < ssize(samples); ++i) {
        interrupt.check();
        const float* const row = gram.row(samples[i]).data();
        float* const copied = block.row(i).data();
        for (Index j = 0; j < ssize(samples); ++j) copied[j] = row[samples[j]];
    }
}

inline Range measure_range(const Question& question, const Solution& solution) {
    return vectorized<find_range>(solution.residuals.data(), solution.coefficients.data(), question.upper.data(),
                                  question.lower.data(), question.size());
}

// List the samples that may still move: samples between their bounds, and samples on a bound that others could draw
// back. If those are too many to be worth a copy of their Gram matrix, all samples are listed.
inline Samples find_unsettled(const Question& question, const Solution& solution, const Range& range) {
    const Index n = question.size();
    Samples unsettled(static_cast<std::size_t>(n));
    Index n_unsettled = 0;
    for (Index k = 0; k < n; ++k) {
        const double coefficient = solution.coefficients[k];
        const double residual = solution.residuals[k];
        const bool stays_up = (coefficient >= question.upper[k]) & (residual > range.highest);
        const bool stays_down = (coefficient <= question.lower[k]) & (residual < range.lowest);
        unsettled[n_unsettled] = static_cast<std::int32_t>(k);
        n_unsettled += stays_up | stays_down ? 0 : 1;
    }
    if (static_cast<double>(n_unsettled) > largest_part * static_cast<double>(n)) return all_samples(n);
    unsettled.resize(static_cast<std::size_t>(n_unsettled));
    return unsettled;
}

// A run of steps on some of the samples, with residuals in single or double precision.
template <class Real>
class Bout {
public:
    Bout(GramMatrix gram, const Question& question, const Solution& solution, const Samples& chosen)
        : gram_(gram),
          upper_(chosen.size()),
          lower_(chosen.size()),
          coefficients_(chosen.size()),
          residuals_(chosen.size()),
          no_rise_(chosen.size()),
          no_fall_(chosen.size()),
          gains_(chosen.size()),
          diagonal_(chosen.size()) {
        for (Index k = 0; k < size(); ++k) {
            const Index sample = chosen[k];
            upper_[k] = question.upper[sample];
            lower_[k] = question.lower[sample];
            coefficients_[k] = solution.coefficients[sample];
            residuals_[k] = static_cast<Real>(solution.residuals[sample]);
            diagonal_[k] = gram(k, k);
            mark_limits(k);
        }
    }

    // Update pairs until all are within the tolerance of the optimum, or the maximum number of steps is reached.
    Index descend(const Effort& effort, Interrupt& interrupt) {
        Index i = 0;
        Index j = 0;
        double move = 0.0;
        for (Index step = 0;; ++step) {
            if (step % steps_per_check == 0) interrupt.check();
            const Best<Real> highest = move_and_find(i, j, static_cast<Real>(move));
            i = highest.sample;
            const Best<Real> partner = find_partner_of(highest);
            j = partner.sample;
            if (!(partner.value > effort.tolerance) || step == effort.max_steps) return step;
            const float curvature = larger(diagonal_[i] + diagonal_[j] - 2.0f * gram_(i, j), smallest_curvature);
            const double distance = static_cast<double>(residuals_[i]) - static_cast<double>(residuals_[j]);
            const double room_up = upper_[i] - coefficients_[i];
            const double room_down = coefficients_[j] - lower_[j];
            move = std::min({distance / static_cast<double>(curvature), room_up, room_down});
            // A sample that has reached its bound is put on it exactly: whether it may move is read from its
            // coefficient.
            coefficients_[i] = move == room_up ? upper_[i] : coefficients_[i] + move;
            coefficients_[j] = move == room_down ? lower_[j] : coefficients_[j] - move;
            mark_limits(i);
            mark_limits(j);
        }
    }

    std::span<const double> coefficients() const { return coefficients_; }
    std::span<const Real> residuals() const { return residuals_; }

private:
    static constexpr Index steps_per_check = 64;

    Index size() const { return ssize(coefficients_); }

    Best<Real> move_and_find(Index i, Index j, Real move) {
        return vectorized<move_and_find_highest<Real>>(residuals_.data(), std::as_const(no_rise_).data(),
                                                       gram_.row(i).data(), gram_.row(j).data(), move, size());
    }

    Best<Real> find_partner_of(const Best<Real>& highest) {
        return vectorized<find_partner<Real>>(std::as_const(residuals_).data(), gains_.data(),
                                              std::as_const(no_fall_).data(), std::as_const(diagonal_).data(),
                                              gram_.row(highest.sample).data(), diagonal_[highest.sample],
                                              highest.value, size());
    }

    // Note, as an infinite penalty, whether a coefficient cannot rise and whether it cannot fall.
    void mark_limits(Index k) {
        no_rise_[k] = coefficients_[k] < upper_[k] ? Real{0} : -infinity<Real>;
        no_fall_[k] = coefficients_[k] > lower_[k] ? Real{0} : infinity<Real>;
    }

    GramMatrix gram_;
    Reals upper_, lower_, coefficients_;
    std::vector<Real> residuals_, no_rise_, no_fall_, gains_;
    std::vector<float> diagonal_;
};

struct BoutResult {
    Index n_steps;
    double drift;  // how far the bout's residuals were from those brought up to date
};

// Run a bout on some samples, and bring the solution up to date with it.
template <class Real>
BoutResult run_bout(const Question& question, Solution& solution, const Samples& chosen, const Effort& effort,
                    Interrupt& interrupt) {
    const Index n_chosen = ssize(chosen);
    GramMatrix gram = question.gram;
    std::unique_ptr<float[]> copied;
    if (n_chosen < question.size()) {
        copied = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(n_chosen * n_chosen));
        const Matrix<float> block(copied.get(), n_chosen, n_chosen);
        take_block(gram, chosen, block, interrupt);
        gram = block;
    }
    Bout<Real> bout(gram, question, solution, chosen);
    const Index n_steps = bout.descend(effort, interrupt);
    Reals changes(chosen.size());
    for (Index k = 0; k < n_chosen; ++k) {
        double& coefficient = solution.coefficients[chosen[k]];
        changes[k] = coefficient - bout.coefficients()[k];
        coefficient = bout.coefficients()[k];
    }
    add_rows<float>(solution.residuals, question.gram, chosen, changes);
    double drift = 0.0;
    for (Index k = 0; k < n_chosen; ++k)
        drift = larger(std::abs(solution.residuals[chosen[k]] - static_cast<double>(bout.residuals()[k])), drift);
    return {n_steps, drift};
}

// Move a solution to the optimum, and return whether it is reached.
//
// The coefficients must sum to zero and be within the bounds. Steps are made in runs. During a run, residuals are
// float32, which is faster; afterwards they are updated in float64. If rounding errors matter, further runs use
// float64. Once most samples seem settled, a run only uses the others, with their part of the Gram matrix.
inline bool improve(const Question& question, Solution& solution, const Effort& effort, Interrupt& interrupt) {
    const Index n = question.size();
    // What drift is tolerated at either end must not leave the gap too wide.
    const double bout_tolerance = (1.0 - 2.0 * tolerated_drift) * effort.tolerance;
    Index n_left = effort.max_steps;
    Index most_steps = n;
    bool precise = false;
    Samples chosen = all_samples(n);
    Range range = measure_range(question, solution);
    while (range.highest - range.lowest > effort.tolerance) {
        if (n_left <= 0) return false;
        const Effort bout{std::min(most_steps, n_left), bout_tolerance};
        const BoutResult result = precise ? run_bout<double>(question, solution, chosen, bout, interrupt)
                                          : run_bout<float>(question, solution, chosen, bout, interrupt);
        n_left -= std::max<Index>(result.n_steps, 1);
        precise = precise || result.drift > tolerated_drift * effort.tolerance;
        range = measure_range(question, solution);
        chosen = find_unsettled(question, solution, range);
        most_steps = 10 * n;
    }
    return true;
}

// Return the mean residual of the samples strictly between their bounds, or the midpoint of the interval that the
// others allow.
inline double find_intercept(const Question& question, const Solution& solution) {
    double total = 0.0;
    Index n_free = 0;
    Range range{-infinity<double>, infinity<double>};
    for (Index k = 0; k < question.size(); ++k) {
        const double coefficient = solution.coefficients[k];
        const double residual = solution.residuals[k];
        // A coefficient that only rounding keeps off its bound does not determine the intercept.
        const double slack = rounding * (question.upper[k] - question.lower[k]);
        const bool may_rise = coefficient < question.upper[k] - slack;
        const bool may_fall = coefficient > question.lower[k] + slack;
        if (may_rise && may_fall) {
            total += residual;
            ++n_free;
        }
        if (may_rise) range.highest = std::max(range.highest, residual);
        if (may_fall) range.lowest = std::min(range.lowest, residual);
    }
    if (n_free > 0) return total / static_cast<double>(n_free);
    const bool has_riser = range.highest > -infinity<double>;
    const bool has_faller = range.lowest < infinity<double>;
    if (has_riser && has_faller) return (range.highest + range.lowest) / 2;
    // Samples of one sign, or none at all.
    return has_riser ? range.highest : has_faller ? range.lowest : 0.0;
}

}  // namespace fuselearn::svm
