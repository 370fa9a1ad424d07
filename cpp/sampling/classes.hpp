// The classes of samples, and whether all of them are among those drawn. Costs one pass, or less.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

struct Classes {
    std::span<const std::int32_t> of_samples;  // from 0 to n_classes - 1
    Index n_classes;
};

inline bool covers(std::span<const std::int32_t> counts, const Classes& classes) {
    if (classes.n_classes > ssize(counts)) return false;
    constexpr Index block_size = 64;
    std::vector<std::uint8_t> is_seen(classes.n_classes, 0);
    Index n_missing = classes.n_classes;
    for (Index start = 0; start < ssize(counts) && n_missing > 0; start += block_size) {
        const Index stop = std::min(start + block_size, ssize(counts));
        // Without branches, which would often be predicted wrong.
        for (Index i = start; i < stop; ++i) {
            std::uint8_t& seen = is_seen[classes.of_samples[i]];
            const bool is_new = (counts[i] > 0) & (seen == 0);
            seen |= static_cast<std::uint8_t>(is_new);
            n_missing -= is_new;
        }
    }
    return n_missing == 0;
}

}  // namespace fuselearn
