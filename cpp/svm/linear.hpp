// Linear support vector machines by dual coordinate descent, on the features themselves, without a Gram matrix.
//
// The objective is that of smo.hpp for K_ij = x_i.x_j: the hinge loss, and an intercept without penalty. The weights w
// = sum_i b_i x_i are updated in each step, so the cost of the residual r_i = y_i - w.x_i - intercept is proportional
// to the number of values of the sample. Each step sets the coefficient b_i of one sample to its optimum. Blocks of
// samples, and the samples of a block, are visited in a new random order in each pass; samples that seem settled on a
// bound are skipped until the others have converged.
//
// Single steps cannot maintain the constraint sum_i b_i = 0. The intercept is its multiplier: it is updated with the
// sum during a pass, and once more after each pass (the method of multipliers), until the sum is zero.
//
// C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan: A dual coordinate descent method for large-scale
// linear SVM. International Conference on Machine Learning, 2008. tests/core/test_linear_svms.py compares with
// libsvm.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "sampling/random.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "support/wide.hpp"
#include "svm/platt.hpp"
#include "svm/sums.hpp"
#include "svm/training.hpp"

namespace fuselearn::svm {

// Of the mean squared length of the samples: how far the intercept follows a change of a coefficient. With more, it
// overshoots; with less, it takes more passes to settle.
constexpr double intercept_step = 0.03;

template <class Value>
struct DenseFeatures {
    Matrix<const Value> values;

    Index n_features() const { return values.n_columns(); }
    double multiply(Index sample, std::span<const double> weights) const {
        return vectorized<svm::multiply<Value>>(values.row(sample).data(), weights.data(), n_features());
    }
    void add_to(std::span<double> weights, Index sample, double factor) const {
        vectorized<add_multiple<Value>>(weights.data(), values.row(sample).data(), factor, n_features());
    }
};

// The arrays of a CSR matrix.
template <class Position>
struct SparseFeatures {
    std::span<const double> values;
    std::span<const Position> features;
    std::span<const Position> starts;
    Index n_features_;

    Index n_features() const { return n_features_; }
    double multiply(Index sample, std::span<const double> weights) const {
        constexpr Index lanes = 4;
        std::array<double, lanes> sums{};
        Index k = starts[sample];
        const Index end = starts[sample + 1];
        for (; k + lanes <= end; k += lanes)
            for (Index l = 0; l < lanes; ++l) sums[l] += values[k + l] * weights[features[k + l]];
        for (; k < end; ++k) sums[0] += values[k] * weights[features[k]];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    void add_to(std::span<double> weights, Index sample, double factor) const {
        for (Index k = starts[sample]; k < starts[sample + 1]; ++k) weights[features[k]] += factor * values[k];
    }
};

struct LinearTraining {
    std::span<const std::int64_t> samples;  // those of the features to train on
    std::span<const double> squares;        // squared lengths of these
    std::span<const double> weights;
    double cost;
    Matrix<const double> folds;
    Index max_passes;
    double tolerance;
};

struct LinearSolution {
    Reals coefficients;  // of the samples
    Reals weights;       // of the features: the sum of the samples times their coefficients
    double intercept = 0.0;
};

template <class Features>
class LinearSolver {
public:
    LinearSolver(const Features& features, const LinearTraining& training, std::span<const double> signs,
                 Interrupt& interrupt)
        : features_(features), training_(training), signs_(signs), interrupt_(interrupt) {}

    // Move a solution to the optimum under other bounds, and return whether it is reached.
    //
    // Coefficients keep to the bounds, but need not sum to zero. Without an intercept to start from, it is the sign of
    // most samples.
    bool descend(std::span<const double> bounds, LinearSolution& solution, std::optional<double> intercept,
                 double tolerance) {
        double positive = 0.0, negative = 0.0, square = 0.0;
        for (Index k = 0; k < ssize(signs_); ++k) {
            (signs_[k] > 0 ? positive : negative) += bounds[k];
            square += training_.squares[k];
        }
        if (positive == 0.0 || negative == 0.0) {
            std::fill(solution.weights.begin(), solution.weights.end(), 0.0);
            solution.intercept = positive > negative ? 1.0 : positive < negative ? -1.0 : 0.0;
            return true;
        }
        bounds_ = bounds;
        step_ =
            std::max(intercept_step * square / static_cast<double>(ssize(signs_)), 1.0 / std::min(positive, negative));
        total_ = std::accumulate(solution.coefficients.begin(), solution.coefficients.end(), 0.0);
        solution.intercept = intercept.value_or(positive > negative ? 1.0 : -1.0) + step_ * total_;

        std::vector<std::int64_t> all;
        for (Index k = 0; k < ssize(bounds); ++k)
            if (bounds[k] > 0.0) all.push_back(k);
        if (all.empty()) return true;
        std::vector<std::int64_t> waiting = all;
        outliers_ = {infinity<double>, -infinity<double>};
        constexpr Index largest = std::numeric_limits<Index>::max();
        Index n_left = training_.max_passes < largest / ssize(all) ? training_.max_passes * ssize(all) : largest;
        for (Key pass = 1; n_left > 0; ++pass) {
            interrupt_.check();
            n_left -= std::max<Index>(ssize(waiting), 1);
            const Residuals found = make_pass(waiting, solution, pass);
            std::erase(waiting, settled);
            const bool is_done = found.highest - found.lowest <= tolerance;
            if (is_done && waiting.size() == all.size() && std::abs(step_ * total_) <= tolerance) return true;
            solution.intercept += step_ * total_;
            if (is_done) waiting = all;
            outliers_.highest = is_done || found.highest == 0.0 ? infinity<double> : found.highest;
            outliers_.lowest = is_done || found.lowest == 0.0 ? -infinity<double> : found.lowest;
        }
        return false;
    }

private:
    struct Residuals {
        double highest = 0.0;
        double lowest = 0.0;
    };

    // Samples that are visited together: neighbors in memory. One by one, large tables take three times as long.
    static constexpr Index block_size = 32;
    static constexpr std::int64_t settled = -1;

    // Visit all waiting samples once; those that seem settled are marked. Return the range of the other residuals.
    Residuals make_pass(std::span<std::int64_t> waiting, LinearSolution& solution, Key pass) {
        Residuals found;
        std::vector<Index> blocks(static_cast<std::size_t>((ssize(waiting) + block_size - 1) / block_size));
        std::iota(blocks.begin(), blocks.end(), 0);
        for (Index turn = 0; turn < ssize(blocks); ++turn) {
            interrupt_.check();
            const Index block = draw_into(std::span<Index>(blocks), turn, pass);
            const Index first = block * block_size;
            const auto part = waiting.subspan(first, std::min(block_size, ssize(waiting) - first));
            const Key key = mix(pass, static_cast<std::uint64_t>(block));
            for (Index position = 0; position < ssize(part); ++position)
                if (!visit(draw_into(part, position, key), solution, found)) part[position] = settled;
        }
        return found;
    }

    // Set one coefficient to its optimum, and return whether the sample must be visited again.
    bool visit(Index k, LinearSolution& solution, Residuals& found) {
        double& coefficient = solution.coefficients[k];
        const double upper = signs_[k] > 0 ? bounds_[k] : 0.0;
        const double lower = signs_[k] > 0 ? 0.0 : -bounds_[k];
        const Index sample = training_.samples[k];
        const double residual = signs_[k] - features_.multiply(sample, solution.weights) - solution.intercept;
        if ((coefficient >= upper && residual >= 0.0) || (coefficient <= lower && residual <= 0.0))
            return residual <= outliers_.highest && residual >= outliers_.lowest;
        found.highest = std::max(found.highest, residual);
        found.lowest = std::min(found.lowest, residual);
        const double moved = std::min(std::max(coefficient + residual / (training_.squares[k] + step_), lower), upper);
        const double change = moved - coefficient;
        coefficient = moved;
        total_ += change;
        solution.intercept += step_ * change;
        features_.add_to(solution.weights, sample, change);
        return true;
    }

    const Features& features_;
    const LinearTraining& training_;
    std::span<const double> signs_;
    Interrupt& interrupt_;
    std::span<const double> bounds_;
    double step_ = 0.0;   // of the intercept
    double total_ = 0.0;  // of the coefficients
    Residuals outliers_;  // beyond these, a sample on a bound seems settled
};

// Solve for one column and, if there are folds, fit the sigmoid to cross-validated decision values.
template <class Features>
void train_linear_column(const Features& features, const LinearTraining& training, std::span<const double> signs,
                         const Machine& machine, Interrupt& interrupt) {
    const Index n = ssize(signs);
    const auto& [samples, squares, weights, cost, folds, max_passes, tolerance] = training;
    LinearSolver solver(features, training, signs, interrupt);
    Reals bounds(signs.size());
    for (Index k = 0; k < n; ++k) bounds[k] = cost * weights[k];
    LinearSolution solution{Reals(signs.size(), 0.0), Reals(static_cast<std::size_t>(features.n_features()), 0.0)};
    machine.converged = solver.descend(bounds, solution, std::nullopt, tolerance);
    machine.intercept = solution.intercept;
    std::copy(solution.weights.begin(), solution.weights.end(), machine.coefficients.begin());
    machine.slope = machine.offset = 0.0;
    if (folds.n_rows() == 0) return;

    LeftOut left_out(machine.left_out.size());
    LinearSolution moved = solution;
    for (Index f = 0; f < folds.n_rows(); ++f) {
        const std::span<const double> fold = folds.row(f);
        moved = solution;
        for (Index k = 0; k < n; ++k) {
            bounds[k] = larger(cost * (weights[k] - fold[k]), 0.0);
            const double coefficient = solution.coefficients[k];
            const double inside = signs[k] * std::min(signs[k] * coefficient, bounds[k]);
            if (inside == coefficient) continue;
            features.add_to(moved.weights, samples[k], inside - coefficient);
            moved.coefficients[k] = inside;
        }
        machine.converged &= solver.descend(bounds, moved, solution.intercept, fold_slack * tolerance);
        left_out.append(fold, signs,
                        [&](Index k) { return features.multiply(samples[k], moved.weights) + moved.intercept; });
    }
    left_out.calibrate(machine);
}

}  // namespace fuselearn::svm
