// Draw independent Poisson counts of samples.
//
// A count is the number of arrivals within a time of `rate`, where the times between arrivals are exponential with mean
// 1. It only depends on the key, the index of the sample and its rate, so samples can be drawn in parts. The cost is
// O(samples + draws). tests/core/test_draws.py compares with a naive loop.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "sampling/classes.hpp"
#include "sampling/random.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

// A few samples at once: all of their first arrivals, then the second ones of those that are not through, and so on. So
// the exponential numbers are made by vector instructions, and nothing is predicted wrong.
class PoissonBlock {
public:
    static constexpr Index size = 256;

    // Count the arrivals of the samples with the numbers first, first + 1, ...; at most `size` of them.
    void count(Key key, std::uint64_t first, std::span<const double> rates, std::span<std::int32_t> counts,
               Interrupt& interrupt) {
        n_waiting_ = ssize(rates);
        for (Index j = 0; j < n_waiting_; ++j) {
            samples_[j] = j;
            keys_[j] = mix(key, first + static_cast<std::uint64_t>(j));
            times_[j] = 0.0;
        }
        for (std::uint64_t n_arrived = 0; n_waiting_ > 0; ++n_arrived) {
            interrupt.check();
            wait(n_arrived);
            keep_early(rates, counts);
        }
    }

private:
    void wait(std::uint64_t n_arrived) {
        std::array<Key, size> keys;
        for (Index j = 0; j < n_waiting_; ++j) keys[j] = mix(keys_[j], n_arrived);
        for (Index j = 0; j < n_waiting_; ++j) times_[j] += exponential(keys[j]);
    }

    void keep_early(std::span<const double> rates, std::span<std::int32_t> counts) {
        Index n_kept = 0;
        for (Index j = 0; j < n_waiting_; ++j) {
            const Index sample = samples_[j];
            const bool is_early = times_[j] < rates[sample];
            counts[sample] += is_early;
            samples_[n_kept] = sample;
            keys_[n_kept] = keys_[j];
            times_[n_kept] = times_[j];
            n_kept += is_early;
        }
        n_waiting_ = n_kept;
    }

    Index n_waiting_ = 0;
    std::array<Index, size> samples_;
    std::array<Key, size> keys_;
    std::array<double, size> times_;
};

struct PoissonDraw {
    Key seed;
    std::uint64_t n_tries = 0;  // draws with this seed that have been rejected
    std::uint64_t first = 0;    // number of the first of the samples
};

// The rates are finite.
inline void draw_poisson_counts(const PoissonDraw& draw, std::span<const double> rates, std::span<std::int32_t> counts,
                                Interrupt& interrupt) {
    std::fill(counts.begin(), counts.end(), 0);
    const Key key = mix(draw.seed, draw.n_tries);
    PoissonBlock block;
    for (Index start = 0; start < ssize(rates); start += PoissonBlock::size) {
        const Index n = std::min(PoissonBlock::size, ssize(rates) - start);
        block.count(key, draw.first + static_cast<std::uint64_t>(start), rates.subspan(start, n),
                    counts.subspan(start, n), interrupt);
    }
}

// Draw until every class is among the samples drawn, or so many times.
inline void draw_covering_poisson_counts(Key seed, std::span<const double> rates, const Classes& classes,
                                         Index max_tries, std::span<std::int32_t> counts, Interrupt& interrupt) {
    for (Index n_tries = 0; n_tries < max_tries; ++n_tries) {
        interrupt.check();
        draw_poisson_counts({seed, static_cast<std::uint64_t>(n_tries)}, rates, counts, interrupt);
        if (covers(counts, classes)) break;
    }
}

}  // namespace fuselearn
