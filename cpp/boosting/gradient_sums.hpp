// Sums of gradients and Hessians of many labels, and the split criterion.
//
// With G_j and H_j the sums of label j over the samples of a side, the best split maximizes
//
//     sum over sides and labels of G_j^2 / (H_j + l2).
//
// Sums over labels are four partial sums, combined in a fixed order, so results are the same on every processor.

#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

// Minimum gain of a split, in units of the loss.
constexpr double least_gain = 1e-9;
// Added to every sum of Hessians, so that a leaf without known labels has the value 0 even if l2 is 0.
constexpr double least_hessian = 1e-12;

// Number of labels in a block, the width of vector instructions.
constexpr Index block = 4;

// Labels of zeros fill the last block; one or two labels stay alone.
constexpr Index padded(Index n_labels) { return n_labels <= 2 ? n_labels : (n_labels + block - 1) / block * block; }

// The gradients, then the Hessians of all labels of each sample; taken as they are if no label has to be added.
class Statistics {
public:
    explicit Statistics(Matrix<const double> given) : n_labels_(padded(given.n_columns() / 2)), rows_(given) {
        const Index n_given = given.n_columns() / 2;
        if (n_given == n_labels_) return;
        copy_.resize(given.n_rows() * width(), 0.0);
        double* row = copy_.data();
        for (Index i = 0; i < given.n_rows(); ++i, row += width()) {
            const auto source = given.row(i);
            std::copy_n(source.begin(), n_given, row);
            std::copy_n(source.begin() + n_given, n_given, row + n_labels_);
        }
        rows_ = {copy_.data(), given.n_rows(), width()};
    }
    Statistics(const Statistics&) = delete;
    Statistics& operator=(const Statistics&) = delete;

    Index n_labels() const { return n_labels_; }
    Index width() const { return 2 * n_labels_; }
    Index n_samples() const { return rows_.n_rows(); }
    const double* row(Index i) const { return rows_.data() + i * width(); }

private:
    Index n_labels_;
    std::vector<double> copy_;
    Matrix<const double> rows_;
};

inline void add_to(double* __restrict sums, const double* __restrict row, Index width) {
    if (width == 2) {
        sums[0] += row[0];
        sums[1] += row[1];
        return;
    }
    for (Index j = 0; j < width; j += block)
        for (Index lane = 0; lane < block; ++lane) sums[j + lane] += row[j + lane];
}

inline void subtract_from(double* __restrict sums, const double* __restrict row, Index width) {
    if (width == 2) {
        sums[0] -= row[0];
        sums[1] -= row[1];
        return;
    }
    for (Index j = 0; j < width; j += block)
        for (Index lane = 0; lane < block; ++lane) sums[j + lane] -= row[j + lane];
}

struct Fraction {
    double numerator;
    double denominator;

    double value() const { return numerator / denominator; }
};

inline Fraction operator+(const Fraction& a, const Fraction& b) {
    return {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator};
}

// The criterion of a split, given the sums of the left side and the totals. Divisions are slow, so a single one is used
// for both sides of two labels.
class SplitScore {
public:
    SplitScore(const double* left, const double* totals, Index n_labels, double l2)
        : left_(left), totals_(totals), n_labels_(n_labels), l2_(l2) {}

    double value() const {
        if (n_labels_ == 1) return of_label(0).value();
        if (n_labels_ == 2) return (of_label(0) + of_label(1)).value();
        std::array<double, block> partial{};
        Index j = 0;
        for (; j + 2 * block <= n_labels_; j += 2 * block)
            for (Index lane = 0; lane < block; ++lane)
                partial[lane] += (of_label(j + lane) + of_label(j + lane + block)).value();
        if (j < n_labels_)
            for (Index lane = 0; lane < block; ++lane) partial[lane] += of_label(j + lane).value();
        return (partial[0] + partial[2]) + (partial[1] + partial[3]);
    }

private:
    Fraction of_label(Index j) const {
        const double g = left_[j];
        const double h = left_[n_labels_ + j];
        const double other_g = totals_[j] - g;
        const double own_h = h + l2_;
        const double other_h = totals_[n_labels_ + j] - h + l2_;
        return {g * g * other_h + other_g * other_g * own_h, own_h * other_h};
    }

    const double* left_;
    const double* totals_;
    Index n_labels_;
    double l2_;
};

inline double score_sides(const double* left, const double* totals, Index n_labels, double l2) {
    return SplitScore(left, totals, n_labels, l2).value();
}

}  // namespace fuselearn
