// Gini's criterion for one class per sample and for lists of labels, as sums that one item changes.
//
// With L and R the class weights on the two sides of a split, the best split has the largest
//
//     sum(L^2) / weight(L) + sum(R^2) / weight(R);
//
// with several labels per sample the sums are over labels: a sample of one class simply has one label. Weights are
// whole numbers (counts, or rounded so that they sum to 2^26), so all sums are exact and do not depend on their order.
// tests/core/test_growing.py compares trees with naive ones.

#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

// Weight that a constant prediction gets wrong: of samples, or of (sample, label) pairs.
inline double risk(std::span<const double> sums, double weight, bool multilabel) {
    if (multilabel) {
        double wrong = 0.0;
        for (const double sum : sums) wrong += std::min(sum, weight - sum);
        return wrong;
    }
    return weight - *std::max_element(sums.begin(), sums.end());
}

// Whether every class or label has either all of the weight or none.
inline bool is_pure(std::span<const double> sums, double weight) {
    return std::none_of(sums.begin(), sums.end(), [weight](double sum) { return 0 < sum && sum < weight; });
}

// A node that is to be split: its class weights, the sum of their squares, their sum (the score of a split into two
// pure children), its weight and the number of its samples with their copies.
struct Parent {
    std::span<const double> totals;
    double squares;
    double most;
    double weight;
    double n_copies;
};

inline Parent describe(std::span<const double> totals, double weight, double n_copies) {
    Parent parent{totals, 0.0, 0.0, weight, n_copies};
    for (const double total : totals) {
        parent.squares += total * total;
        parent.most += total;
    }
    return parent;
}

// A score as a fraction: fractions are compared without division and, on small data, exactly.
struct Score {
    double numerator;
    double denominator;

    bool exceeds(const Score& other) const { return numerator * other.denominator > other.numerator * denominator; }
};

inline Score score_of(double left_squares, double left_weight, double right_squares, double right_weight) {
    return {left_squares * right_weight + right_squares * left_weight, left_weight * right_weight};
}

// The left side of a cut that moves through the items of a feature.
//
// An item that moves from the right to the left changes sum(L^2) and sum(L * (L + R)), from which sum(R^2) follows. The
// cost is proportional to the number of classes or labels of the item.
template <class Items>
class MovingSide {
public:
    MovingSide(const Items& items, const Parent& parent, std::span<double> sums)
        : items_(items), parent_(parent), sums_(sums) {}

    void clear() {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        squares_ = products_ = weight_ = count_ = 0.0;
    }
    void add(Index item) {
        const double weight = items_.weight(item);
        squares_ += items_.add(item, weight, sums_);
        products_ += items_.product(item, parent_);
        weight_ += weight;
        count_ += items_.count(item);
    }
    double count() const { return count_; }
    double weight() const { return weight_; }
    Score score() const {
        return score_of(squares_, weight_, parent_.squares - 2.0 * products_ + squares_, parent_.weight - weight_);
    }

private:
    const Items& items_;
    const Parent& parent_;
    std::span<double> sums_;
    double squares_ = 0.0, products_ = 0.0, weight_ = 0.0, count_ = 0.0;
};

// The same for few classes, one per sample: their weights stay in registers, and the squares are summed where a cut is
// possible. On small data this makes a tree 1.5 times as fast, as no step waits for a number to be stored and read
// again.
template <class Items, int NClasses>
class FewClassesSide {
public:
    FewClassesSide(const Items& items, const Parent& parent, std::span<double>) : items_(items), parent_(parent) {
        std::copy_n(parent.totals.begin(), NClasses, totals_.begin());
    }

    void clear() {
        sums_.fill(0.0);
        count_ = 0.0;
    }
    void add(Index item) {
        items_.add_to_few(item, sums_);
        if constexpr (Items::weighted) count_ += items_.count(item);
    }
    double count() const { return Items::weighted ? count_ : weight(); }
    double weight() const {
        double weight = 0.0;
        for (const double sum : sums_) weight += sum;
        return weight;
    }
    Score score() const {
        double left = 0.0, right = 0.0;
        for (int j = 0; j < NClasses; ++j) {
            left += sums_[j] * sums_[j];
            right += (totals_[j] - sums_[j]) * (totals_[j] - sums_[j]);
        }
        const double left_weight = weight();
        return score_of(left, left_weight, right, parent_.weight - left_weight);
    }

private:
    const Items& items_;
    const Parent& parent_;
    std::array<double, NClasses> sums_{};
    std::array<double, NClasses> totals_;
    double count_ = 0.0;
};

}  // namespace fuselearn
