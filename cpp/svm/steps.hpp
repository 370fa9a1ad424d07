// The two loops of a step of sequential minimal optimization, and others that look for largest residuals.
//
// Each is one pass over the samples, without a branch. Largest values are kept in lanes, so that compilers can use
// vector instructions without taking liberties with floats; of equal values the first wins, whatever the number of
// lanes. tests/core/test_smo.py repeats the steps in plain NumPy.

#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "support/views.hpp"
#include "support/wide.hpp"

namespace fuselearn::svm {

constexpr Index n_lanes = 16;
constexpr float smallest_curvature = 1e-12f;

template <class Real>
constexpr Real infinity = std::numeric_limits<Real>::infinity();

template <class Real>
using Lanes = std::array<Real, n_lanes>;

template <class Real>
constexpr Real larger(Real a, Real b) {
    return a > b ? a : b;
}

template <class Real>
Real find_largest(const Lanes<Real>& lanes) {
    const auto of_four = [&](Index l) {
        return larger(larger(lanes[l], lanes[l + 1]), larger(lanes[l + 2], lanes[l + 3]));
    };
    return larger(larger(of_four(0), of_four(4)), larger(of_four(8), of_four(12)));
}

// Return the first position whose value is the largest, for which the lanes that hold it are searched, or the values
// that do not fill all lanes.
template <class Real, class ValueAt>
Index find_first(const Lanes<Real>& lanes, Real largest, Index n, const ValueAt& value_at) {
    int n_found = 0;
    int lane = 0;
    for (int l = 0; l < n_lanes; ++l) {
        const int found = lanes[l] == largest ? 1 : 0;
        n_found += found;
        lane += found * l;
    }
    const Index n_in_lanes = n - n % n_lanes;
    if (n_found == 1) {
        for (Index k = lane; k < n_in_lanes; k += n_lanes)
            if (value_at(k) == largest) return k;
    }
    Index k = n_found > 0 ? 0 : n_in_lanes;
    while (k < n - 1 && value_at(k) != largest) ++k;
    return k;
}

template <class Real>
struct Best {
    Index sample;
    Real value;
};

// Bring the residuals up to date with the last move, and find the largest that belongs to a sample that may rise.
//
// Where a sample cannot rise, `no_rise` is minus infinity, else 0.
template <class Real>
Best<Real> move_and_find_highest(Real* __restrict residuals, const Real* __restrict no_rise,
                                 const float* __restrict up_row, const float* __restrict down_row, Real move, Index n) {
    Lanes<Real> lanes;
    lanes.fill(-infinity<Real>);
    Index k = 0;
    for (; k + n_lanes <= n; k += n_lanes)
        for (Index l = 0; l < n_lanes; ++l) {
            const Real moved = residuals[k + l] - move * (up_row[k + l] - down_row[k + l]);
            residuals[k + l] = moved;
            lanes[l] = larger(moved + no_rise[k + l], lanes[l]);
        }
    Real highest = find_largest(lanes);
    for (; k < n; ++k) {
        residuals[k] -= move * (up_row[k] - down_row[k]);
        highest = larger(residuals[k] + no_rise[k], highest);
    }
    return {find_first(lanes, highest, n, [=](Index at) { return residuals[at] + no_rise[at]; }), highest};
}

// Find the sample that may fall by which the pair with the highest one gains most, and how far from the optimum the
// solution is.
//
// Where a sample cannot fall, `no_fall` is infinity, else 0. The row is that of the highest sample, whose value with
// itself is `own`; `diagonal` holds those of all samples.
template <class Real>
Best<Real> find_partner(const Real* __restrict residuals, Real* __restrict gains, const Real* __restrict no_fall,
                        const float* __restrict diagonal, const float* __restrict row, float own, Real highest,
                        Index n) {
    Lanes<Real> best_gains{};
    Lanes<Real> gaps{};
    const auto distance_of = [=](Index k) { return larger(highest - (residuals[k] + no_fall[k]), Real{0}); };
    const auto gain_of = [=](Index k, Real distance) {
        const float curvature = larger(own + diagonal[k] - 2.0f * row[k], smallest_curvature);
        return distance * distance / curvature;
    };
    Index k = 0;
    for (; k + n_lanes <= n; k += n_lanes)
        for (Index l = 0; l < n_lanes; ++l) {
            const Real distance = distance_of(k + l);
            const Real gain = gain_of(k + l, distance);
            gains[k + l] = gain;
            best_gains[l] = larger(gain, best_gains[l]);
            gaps[l] = larger(distance, gaps[l]);
        }
    Real best_gain = find_largest(best_gains);
    Real gap = find_largest(gaps);
    for (; k < n; ++k) {
        const Real distance = distance_of(k);
        gains[k] = gain_of(k, distance);
        best_gain = larger(gains[k], best_gain);
        gap = larger(distance, gap);
    }
    return {find_first(best_gains, best_gain, n, [=](Index at) { return gains[at]; }), gap};
}

// Add a multiple of a row, and find the largest residual, or the smallest if the direction is -1 and not 1, of the
// samples that are not barred, by minus infinity.
inline Best<double> add_and_find(double* __restrict residuals, const double* __restrict barred,
                                 const float* __restrict row, double factor, double direction, Index n) {
    Lanes<double> lanes;
    lanes.fill(-infinity<double>);
    Index k = 0;
    for (; k + n_lanes <= n; k += n_lanes)
        for (Index l = 0; l < n_lanes; ++l) {
            const double sum = residuals[k + l] + factor * row[k + l];
            residuals[k + l] = sum;
            lanes[l] = larger(direction * sum + barred[k + l], lanes[l]);
        }
    double highest = find_largest(lanes);
    for (; k < n; ++k) {
        residuals[k] += factor * row[k];
        highest = larger(direction * residuals[k] + barred[k], highest);
    }
    const auto candidate = [=](Index at) { return direction * residuals[at] + barred[at]; };
    return {find_first(lanes, highest, n, candidate), highest};
}

struct Range {
    double highest;  // residual of the samples that may rise
    double lowest;   // residual of those that may fall
};

inline Range find_range(const double* __restrict residuals, const double* __restrict coefficients,
                        const double* __restrict upper, const double* __restrict lower, Index n) {
    Lanes<double> highest, lowest;
    highest.fill(-infinity<double>);
    lowest.fill(-infinity<double>);
    const auto riser = [=](Index k) { return coefficients[k] < upper[k] ? residuals[k] : -infinity<double>; };
    const auto faller = [=](Index k) { return coefficients[k] > lower[k] ? -residuals[k] : -infinity<double>; };
    Index k = 0;
    for (; k + n_lanes <= n; k += n_lanes)
        for (Index l = 0; l < n_lanes; ++l) {
            highest[l] = larger(riser(k + l), highest[l]);
            lowest[l] = larger(faller(k + l), lowest[l]);
        }
    Range range{find_largest(highest), -find_largest(lowest)};
    for (; k < n; ++k) {
        range.highest = larger(riser(k), range.highest);
        range.lowest = -larger(faller(k), -range.lowest);
    }
    return range;
}

}  // namespace fuselearn::svm
