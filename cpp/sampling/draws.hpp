// Draw samples with replacement, in proportion to their weights, as counts.
//
// The cumulative sums of n + 1 exponential numbers, divided by the last of them, are n sorted uniform numbers. Scaled
// to the sum of the weights, they are merged with the cumulative weights. The cost is O(samples + draws).
// tests/core/test_draws.py compares with a separate search for each number.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sampling/classes.hpp"
#include "sampling/random.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Write exponential numbers, one for each number from 0 on.
inline void fill_spacings(Key key, std::span<double> spacings, Interrupt& interrupt) {
    constexpr Index block_size = 512;
    std::array<Key, block_size> keys;
    for (Index start = 0; start < ssize(spacings); start += block_size) {
        interrupt.check();
        const Index n = std::min(block_size, ssize(spacings) - start);
        // In two loops, since only the second one can be made of vector instructions.
        for (Index k = 0; k < n; ++k) keys[k] = mix(key, static_cast<std::uint64_t>(start + k));
        for (Index k = 0; k < n; ++k) spacings[start + k] = exponential(keys[k]);
    }
}

// For each position, count it for the first sample whose running sum reaches it.
//
// Both arrays are sorted and end with infinity; the last position is not counted. A step moves on to the next position
// or to the next sample and depends on the previous step, so several ranges, whose starts are found by a search, are
// merged at the same time.
inline void merge(std::span<const double> positions, std::span<const double> sums, std::span<std::int32_t> counts) {
    struct Walk {
        Index position, sample, n_steps;
    };
    constexpr Index n_walks = 4;
    const Index n_positions = ssize(positions) - 1;
    std::array<Walk, n_walks + 1> walks;
    for (Index w = 0; w <= n_walks; ++w) {
        const Index start = n_positions * w / n_walks;
        const auto reached = std::lower_bound(sums.begin(), sums.end(), positions[start]);
        walks[w] = {start, reached - sums.begin(), 0};
        if (w > 0)
            walks[w - 1].n_steps =
                (walks[w].position - walks[w - 1].position) + (walks[w].sample - walks[w - 1].sample);
    }
    const auto step = [&](Walk& walk) {
        const bool is_reached = sums[walk.sample] >= positions[walk.position];
        counts[walk.sample] += is_reached;
        walk.position += is_reached;
        walk.sample += !is_reached;
    };
    Index n_common = walks[0].n_steps;
    for (Index w = 1; w < n_walks; ++w) n_common = std::min(n_common, walks[w].n_steps);
    for (Index k = 0; k < n_common; ++k)
        for (Index w = 0; w < n_walks; ++w) step(walks[w]);
    for (Index w = 0; w < n_walks; ++w)
        for (Index k = n_common; k < walks[w].n_steps; ++k) step(walks[w]);
}

// The weights are finite and not negative, and at least one is positive.
inline void draw_counts(Key key, std::span<const double> weights, Index n_draws, std::span<std::int32_t> counts,
                        Interrupt& interrupt) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    // One piece of memory, not two: malloc then keeps it for the next draw instead of giving it back to the system.
    std::vector<double> memory(n_draws + 1 + weights.size());
    const std::span positions = std::span(memory).first(n_draws + 1);
    const std::span sums = std::span(memory).subspan(n_draws + 1);
    fill_spacings(key, positions, interrupt);
    double total_spacing = 0.0;
    for (const double spacing : positions) total_spacing += spacing;
    double total_weight = 0.0;
    for (Index i = 0; i < ssize(weights); ++i) sums[i] = total_weight += weights[i];
    const double scale = total_weight / total_spacing;
    double position = 0.0;
    for (Index k = 0; k < n_draws; ++k) positions[k] = position += positions[k] * scale;
    positions[n_draws] = infinity;

    // Samples with weight 0 are never drawn, even if the last positions exceed the last sum by rounding.
    Index first = 0;
    while (weights[first] == 0) ++first;
    Index last = ssize(weights) - 1;
    while (weights[last] == 0) --last;
    sums[last] = infinity;
    std::fill(counts.begin(), counts.end(), 0);
    merge(positions, sums.subspan(first, last + 1 - first), counts.subspan(first));
}

// Draw until every class is among the samples drawn, or so many times.
inline void draw_covering_counts(Key seed, std::span<const double> weights, Index n_draws, const Classes& classes,
                                 Index max_tries, std::span<std::int32_t> counts, Interrupt& interrupt) {
    for (Index n_tries = 0; n_tries < max_tries; ++n_tries) {
        interrupt.check();
        draw_counts(mix(seed, static_cast<std::uint64_t>(n_tries)), weights, n_draws, counts, interrupt);
        if (covers(counts, classes)) break;
    }
}

}  // namespace fuselearn
