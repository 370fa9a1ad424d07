// Platt scaling: a sigmoid that turns decision values into probabilities.
//
//     P(positive | f) = 1 / (1 + exp(slope f + offset))
//
// minimizes the cross entropy to targets slightly inside 0 and 1, by Newton's method with backtracking: some ten passes
// over the values.
//
// J. Platt: Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.
// H.-T. Lin, C.-J. Lin, R. C. Weng: A note on Platt's probabilistic outputs for support vector machines. Machine
// Learning 68, 2007. tests/core/test_platt.py compares with a general minimizer.

#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/views.hpp"
#include "support/wide.hpp"

namespace fuselearn::svm {

struct Sigmoid {
    double slope = 0.0;
    double offset = 0.0;
};

// Decision values, and how often each counts.
struct Decisions {
    std::vector<double> values, signs, weights;
};

// Return exp(-x) of x >= 0, in plain arithmetic: loops over it become vector instructions, and it is equal on every
// platform. With x = k log 2 + r, r at most log(2) / 2 off zero, exp(-x) = 2^-k exp(-r).
inline double exp_minus(double x) {
    constexpr double inverse_log_2 = 1.4426950408889634;
    constexpr double log_2_high = 6.93147180369123816490e-01;  // 32 bits, so that products with k are exact
    constexpr double log_2_low = 1.90821492927058770002e-10;
    constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52: the sum's lowest bits are a rounded number
    constexpr double largest = 708.0;               // beyond, the result is less than the smallest normal number
    const double limited = x < largest ? x : largest;
    const double shifted = limited * inverse_log_2 + rounder;
    const double k = shifted - rounder;
    const double r = (limited - k * log_2_high) - k * log_2_low;
    double series = 1.0 / 6227020800.0;
    series = 1.0 / 479001600.0 - series * r;
    series = 1.0 / 39916800.0 - series * r;
    series = 1.0 / 3628800.0 - series * r;
    series = 1.0 / 362880.0 - series * r;
    series = 1.0 / 40320.0 - series * r;
    series = 1.0 / 5040.0 - series * r;
    series = 1.0 / 720.0 - series * r;
    series = 1.0 / 120.0 - series * r;
    series = 1.0 / 24.0 - series * r;
    series = 1.0 / 6.0 - series * r;
    series = 0.5 - series * r;
    series = 1.0 - (1.0 - series * r) * r;
    // The lowest bits of `shifted` hold k; the exponent of a number starts at bit 52.
    const std::uint64_t exponent = (std::uint64_t{1023} - std::bit_cast<std::uint64_t>(shifted)) << 52;
    return series * std::bit_cast<double>(exponent);
}

// Return log(1 + x) of x from 0 to 1. With 1 + x = m 2^e, m between sqrt(1/2) and sqrt(2), log m is
// 2 artanh((m - 1) / (m + 1)).
inline double log_1_plus(double x) {
    constexpr double log_2 = 0.6931471805599453;
    constexpr double root_minus_1 = 0.41421356237309503;
    const bool above = x > root_minus_1;
    const double ratio = (above ? x - 1.0 : x) / (above ? x + 3.0 : x + 2.0);
    const double square = ratio * ratio;
    double series = 1.0 / 23.0;
    series = series * square + 1.0 / 21.0;
    series = series * square + 1.0 / 19.0;
    series = series * square + 1.0 / 17.0;
    series = series * square + 1.0 / 15.0;
    series = series * square + 1.0 / 13.0;
    series = series * square + 1.0 / 11.0;
    series = series * square + 1.0 / 9.0;
    series = series * square + 1.0 / 7.0;
    series = series * square + 1.0 / 5.0;
    series = series * square + 1.0 / 3.0;
    return (above ? log_2 : 0.0) + 2.0 * (ratio + ratio * square * series);
}

// The cross entropy of a sigmoid, and its first and second derivatives.
struct Loss {
    double value = 0.0;
    double slope_change = 0.0, offset_change = 0.0;
    double slope_slope = 0.0, slope_offset = 0.0, offset_offset = 0.0;
};

// Write the probability and the cross entropy of every value.
inline void evaluate(const double* __restrict values, const double* __restrict targets,
                     double* __restrict probabilities, double* __restrict losses, Sigmoid sigmoid, Index n) {
    for (Index k = 0; k < n; ++k) {
        const double exponent = sigmoid.slope * values[k] + sigmoid.offset;
        const double small = exp_minus(std::abs(exponent));
        probabilities[k] = (exponent >= 0 ? small : 1.0) / (1.0 + small);
        // log(1 + e^x) is x + log(1 + e^-x) where x is positive: neither side overflows.
        losses[k] = targets[k] * exponent + (exponent < 0 ? -exponent : 0.0) + log_1_plus(small);
    }
}

// Sum up over the values, in lanes, so that compilers can use vector instructions.
inline Loss sum_up(const double* __restrict values, const double* __restrict targets, const double* __restrict weights,
                   const double* __restrict probabilities, const double* __restrict losses, Index n) {
    constexpr Index lanes = 4;
    std::array<std::array<double, lanes>, 6> sums{};
    const auto add = [&](Index k, Index l) {
        const double curvature = weights[k] * probabilities[k] * (1.0 - probabilities[k]);
        const double excess = weights[k] * (targets[k] - probabilities[k]);
        sums[0][l] += weights[k] * losses[k];
        sums[1][l] += values[k] * excess;
        sums[2][l] += excess;
        sums[3][l] += values[k] * values[k] * curvature;
        sums[4][l] += values[k] * curvature;
        sums[5][l] += curvature;
    };
    Index k = 0;
    for (; k + lanes <= n; k += lanes)
        for (Index l = 0; l < lanes; ++l) add(k + l, l);
    for (; k < n; ++k) add(k, 0);
    const auto total = [&](Index s) { return (sums[s][0] + sums[s][1]) + (sums[s][2] + sums[s][3]); };
    return {total(0), total(1), total(2), total(3), total(4), total(5)};
}

class SigmoidFit {
public:
    explicit SigmoidFit(const Decisions& decisions)
        : decisions_(decisions),
          targets_(decisions.values.size()),
          probabilities_(decisions.values.size()),
          losses_(decisions.values.size()) {
        double positive = 0.0, negative = 0.0;
        for (Index k = 0; k < size(); ++k) (decisions.signs[k] > 0 ? positive : negative) += decisions.weights[k];
        for (Index k = 0; k < size(); ++k)
            targets_[k] = decisions.signs[k] > 0 ? (positive + 1.0) / (positive + 2.0) : 1.0 / (negative + 2.0);
        start_ = {0.0, std::log((negative + 1.0) / (positive + 1.0))};
    }

    Sigmoid find() {
        constexpr int max_steps = 100;
        Sigmoid sigmoid = start_;
        Loss loss = measure(sigmoid);
        for (int step = 0; step < max_steps; ++step)
            if (!improve(sigmoid, loss)) break;
        return sigmoid;
    }

private:
    Index size() const { return ssize(decisions_.values); }

    Loss measure(const Sigmoid& sigmoid) {
        const double* const values = decisions_.values.data();
        vectorized<evaluate>(values, std::as_const(targets_).data(), probabilities_.data(), losses_.data(), sigmoid,
                             size());
        return vectorized<sum_up>(values, std::as_const(targets_).data(), decisions_.weights.data(),
                                  std::as_const(probabilities_).data(), std::as_const(losses_).data(), size());
    }

    // Make one step, and return whether the loss became smaller.
    bool improve(Sigmoid& sigmoid, Loss& loss) {
        constexpr double smallest_step = 1e-10;
        constexpr double ridge = 1e-12;
        constexpr double smallest_gradient = 1e-5;
        if (std::abs(loss.slope_change) < smallest_gradient && std::abs(loss.offset_change) < smallest_gradient)
            return false;
        const double slope_slope = loss.slope_slope + ridge, offset_offset = loss.offset_offset + ridge;
        const double determinant = slope_slope * offset_offset - loss.slope_offset * loss.slope_offset;
        const double slope_step =
            -(offset_offset * loss.slope_change - loss.slope_offset * loss.offset_change) / determinant;
        const double offset_step =
            -(slope_slope * loss.offset_change - loss.slope_offset * loss.slope_change) / determinant;
        const double descent = loss.slope_change * slope_step + loss.offset_change * offset_step;
        for (double step = 1.0; step >= smallest_step; step /= 2.0) {
            const Sigmoid moved{sigmoid.slope + step * slope_step, sigmoid.offset + step * offset_step};
            const Loss moved_loss = measure(moved);
            if (moved_loss.value < loss.value + 1e-4 * step * descent) {
                sigmoid = moved;
                loss = moved_loss;
                return true;
            }
        }
        return false;
    }

    const Decisions& decisions_;
    std::vector<double> targets_, probabilities_, losses_;
    Sigmoid start_;
};

}  // namespace fuselearn::svm
