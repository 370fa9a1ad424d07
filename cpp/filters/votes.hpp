// Votes v, the estimate y and the measurement z = (y + one_hot(v)) / 2, compared with the true classes.
//
// One pass over y; sums run in the order of the samples. tests/engines/test_fusing.py pins it against argmax.

#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "support/views.hpp"

namespace fuselearn {

// The fractions of wrong samples.
struct VoteErrors {
    double measurement = 0.0;
    double votes = 0.0;
    double estimate = 0.0;
};

struct TrueClasses {
    std::span<const std::int32_t> of_samples;
    std::span<const double> fractions;  // what each sample counts
};

// Write whether the largest score of z, the first of equal ones, is of another class than the true one.
inline VoteErrors compare_votes(Matrix<const double> estimate, std::span<const std::int32_t> votes,
                                const TrueClasses& truth, std::span<bool> wrong) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    VoteErrors errors;
    for (Index i = 0; i < estimate.n_rows(); ++i) {
        // Nothing here is a branch, which would often be predicted wrong.
        const auto scores = estimate.row(i);
        const Index vote = votes[i], true_class = truth.of_samples[i];
        double largest = -infinity;
        Index first = 0;  // class of the largest score, the first of equal ones
        for (Index j = 0; j < ssize(scores); ++j) {
            first = scores[j] > largest ? j : first;
            largest = scores[j] > largest ? scores[j] : largest;
        }
        // Twice the measurement is compared: there, the score of the vote's class is larger by one.
        const double raised = scores[vote] + 1.0;
        const bool vote_wins = (vote == first) | (raised > largest) | ((raised == largest) & (vote < first));
        wrong[i] = (vote_wins ? vote : first) != true_class;
        errors.measurement += truth.fractions[i] * wrong[i];
        errors.votes += truth.fractions[i] * (vote != true_class);
        errors.estimate += truth.fractions[i] * (first != true_class);
    }
    return errors;
}

}  // namespace fuselearn
