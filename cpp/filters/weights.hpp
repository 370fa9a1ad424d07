// The measurement of the sample weights, which increases the weights of wrong samples.
//
// A few passes over the samples. tests/core/test_filters.py compares with the formulas in NumPy.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "filters/pulling.hpp"
#include "support/exact_sum.hpp"
#include "support/views.hpp"

namespace fuselearn {

// The last two are the formulas that the papers print; the first three those of the authors' programs.
enum class Weighting { exponential, linear, symmetric, printed_exponential, printed_linear };

struct WeightUpdate {
    Weighting weighting;
    double gain;
    bool is_exact;  // whether sums are
};

struct SampleWeights {
    std::span<const double> now;    // w
    std::span<const double> first;  // their initial values, 1/n if all are equal
    double n_samples;               // n, in all parts of the table
};

// The factor of the current weight for a loss from 0 to 1: e^(loss + 1/n), loss, e^(2 loss - 1), or as printed e^loss,
// and loss.
class LossFactor {
public:
    LossFactor(Weighting weighting, double n_samples)
        : weighting_(weighting),
          of_right_(weighting == Weighting::printed_exponential ? 1.0 : std::exp(1.0 / n_samples)) {}

    double operator()(double loss) const {
        if (weighting_ == Weighting::linear || weighting_ == Weighting::printed_linear) return loss;
        if (weighting_ == Weighting::symmetric) return std::exp(2.0 * loss - 1.0);
        return (loss == 0.0 ? 1.0 : loss == 1.0 ? std::numbers::e : std::exp(loss)) * of_right_;
    }

private:
    Weighting weighting_;
    double of_right_;
};

// Exponential: w_i exp(loss_i + 1/n). Linear: 1/n + w_i loss_i. Symmetric: w_i exp(2 loss_i - 1). The caller scales
// these two to sum to one. As printed: w_i exp(loss_i), and w_i loss_i. Losses are bytes where a sample is either wrong
// (not 0) or right.
template <class Loss>
void measure_weights(const SampleWeights& weights, std::span<const Loss> loss, Weighting weighting,
                     std::span<double> measured) {
    const LossFactor factor(weighting, weights.n_samples);
    const auto measure = [&](const auto& factor_of) {
        if (weighting == Weighting::linear)
            for (Index i = 0; i < ssize(measured); ++i)
                measured[i] = weights.first[i] + weights.now[i] * factor_of(loss[i]);
        else
            for (Index i = 0; i < ssize(measured); ++i) measured[i] = weights.now[i] * factor_of(loss[i]);
    };
    if constexpr (std::is_same_v<Loss, std::uint8_t>) {
        const std::array<double, 2> factors = {factor(0.0), factor(1.0)};
        measure([&](std::uint8_t byte) { return factors[byte != 0]; });
    } else {
        measure(factor);
    }
}

// Divide weights by their sum, in place: an exact one, or one in the order of the samples.
inline void normalize(std::span<double> weights, bool is_exact) {
    double total = 0.0;
    if (is_exact) {
        ExactSum exact;
        for (const double weight : weights) exact.add(weight);
        total = exact.rounded();
    } else {
        for (const double weight : weights) total += weight;
    }
    for (double& weight : weights) weight /= total;
}

inline bool is_normalized(Weighting weighting) {
    return weighting == Weighting::linear || weighting == Weighting::symmetric;
}

// The measurement update of the weights, in place: w <- w + K (z - w), scaled to sum to one.
template <class Loss>
void update_weights(std::span<double> weights, std::span<const double> first, std::span<const Loss> loss,
                    const WeightUpdate& update) {
    std::vector<double> measured(weights.size());
    const auto n_samples = static_cast<double>(weights.size());
    measure_weights({weights, first, n_samples}, loss, update.weighting, std::span(measured));
    if (is_normalized(update.weighting)) normalize(measured, update.is_exact);
    // With a gain of 1 and no wrong sample, all weights would be 0; they are then left unchanged.
    if (std::ranges::all_of(measured, [](double weight) { return weight == 0.0; })) return;
    pull(weights, measured, update.gain);
    normalize(weights, update.is_exact);
}

}  // namespace fuselearn
