// A counter-based random generator: every number depends on a key alone.
//
// Every node of a tree derives its key from its parent's, so random choices only depend on the seed and on the position
// of the node, not on the order or the thread in which nodes are grown. The keys are those of SplitMix64.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "support/views.hpp"

namespace fuselearn {

using Key = std::uint64_t;

// Derive a new key from a key and a small number (the finalizer of SplitMix64).
constexpr Key mix(Key key, std::uint64_t salt) {
    std::uint64_t z = key + 0x9E3779B97F4A7C15u * (salt + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Turn a whole number below 2^52 into a double: it is the fraction of 2^52. Vectors have no other way before AVX-512.
constexpr double to_double(std::uint64_t number) {
    return std::bit_cast<double>(number | std::bit_cast<std::uint64_t>(0x1p52)) - 0x1p52;
}

// Turn a key into a number in [0, 1), a multiple of 2^-53.
constexpr double uniform(Key key) { return to_double(key >> 12) * 0x1p-52 + to_double((key >> 11) & 1) * 0x1p-53; }

// Turn a key into an exponential number of mean 1: the negative logarithm of a uniform number in (0, 1].
//
// In plain arithmetic, so that a loop over it becomes vector instructions, and equal on every platform. With the number
// written as m 2^e, m between sqrt(1/2) and sqrt(2), log m = 2 artanh((m - 1) / (m + 1)).
constexpr double exponential(Key key) {
    constexpr std::uint64_t one = std::uint64_t{1} << 52;         // the lowest bit of an exponent
    constexpr std::uint64_t fraction_of_root = 1865452045155277;  // of sqrt(2)
    constexpr double log_2 = 0.6931471805599453;
    const auto bits = std::bit_cast<std::uint64_t>(1.0 - uniform(key));
    const std::uint64_t fraction = bits & (one - 1);
    const std::uint64_t above = (fraction + (one - fraction_of_root)) >> 52;  // 1 from sqrt(2) on, else 0
    const double exponent = to_double((bits >> 52) + above) - 1023.0;
    const auto m = std::bit_cast<double>(fraction | ((1023 - above) << 52));
    const double ratio = (m - 1.0) / (m + 1.0);
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
    return -(exponent * log_2 + 2.0 * (ratio + ratio * square * series));
}

// A random one of the positions from `position` on, of `n` in all.
inline Index draw_position(Index n, Index position, Key key) {
    const auto n_left = static_cast<double>(n - position);
    return position + static_cast<Index>(uniform(mix(key, static_cast<std::uint64_t>(position))) * n_left);
}

// Swap into a position a random one of the items from there on, and return it.
template <class Item>
Item draw_into(std::span<Item> items, Index position, Key key) {
    std::swap(items[position], items[draw_position(ssize(items), position, key)]);
    return items[position];
}

}  // namespace fuselearn
