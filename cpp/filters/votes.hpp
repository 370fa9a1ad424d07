// Compare votes v, the estimate y and the measurement z = (y + one_hot(v)) / 2 with the true classes.
//
// One pass over y. tests/core/test_filters.py compares with argmax.

#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "support/exact_sum.hpp"
#include "support/views.hpp"

namespace fuselearn {

// A sum in the order of the samples, rounded at each step.
class PlainSum {
public:
    void add_if(bool is_counted, double value) { sum_ += is_counted * value; }
    double rounded() const { return sum_; }

private:
    double sum_ = 0.0;
};

// The fractions of wrong samples; Sum is PlainSum or ExactSum.
template <class Sum>
struct VoteErrors {
    Sum measurement, votes, estimate;
};

struct TrueClasses {
    std::span<const std::int32_t> of_samples;
    std::span<const double> fractions;  // weight of each sample, with a sum of 1
};

// Write whether the class of the largest score of z (ties: the first one) differs from the true class.
template <class Sum>
VoteErrors<Sum> compare_votes(Matrix<const double> estimate, std::span<const std::int32_t> votes,
                              const TrueClasses& truth, std::span<bool> wrong) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    VoteErrors<Sum> errors;
    for (Index i = 0; i < estimate.n_rows(); ++i) {
        // Without branches, which would often be mispredicted.
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
        errors.measurement.add_if(wrong[i], truth.fractions[i]);
        errors.votes.add_if(vote != true_class, truth.fractions[i]);
        errors.estimate.add_if(first != true_class, truth.fractions[i]);
    }
    return errors;
}

}  // namespace fuselearn
