// Random cuts of numeric features, as in extremely randomized trees.
//
// A cut is drawn evenly between the smallest and the largest number of a feature in a node. The items of the node may
// come in any order: one pass over their codes finds the range, one the codes next to the cut, and one what is left of
// it. tests/core/test_growing.py compares the trees with naive ones.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sampling/random.hpp"
#include "support/views.hpp"
#include "tables/coding.hpp"
#include "trees/items.hpp"
#include "trees/runs.hpp"

namespace fuselearn {

// The items of a node with their codes of one feature. Codes are from `lowest` to `highest`, missing values aside.
template <class Code>
struct CodedItems {
    std::span<const Code> codes;
    std::span<const std::uint32_t> items;
    Index lowest = 0;
    Index highest = 0;
    bool has_missing = false;
};

// Find the range of the codes. If all are missing, it is that of the missing ones.
template <class Code>
CodedItems<Code> coded_items(std::span<const Code> codes, std::span<const std::uint32_t> items, Index missing_code) {
    Code lowest = codes.front();
    Code highest = codes.front();
    for (const Code code : codes) {
        lowest = std::min(lowest, code);
        highest = std::max(highest, code);
    }
    const bool has_missing = highest == missing_code;
    if (has_missing) {
        highest = lowest;
        for (const Code code : codes) highest = std::max(highest, code == missing_code ? lowest : code);
    }
    return {codes, items, static_cast<Index>(lowest), static_cast<Index>(highest), has_missing};
}

// The largest code on the left of a cut and the smallest on its right, of codes that the node has.
struct Cut {
    Index last_left;
    Index first_right;
};

// Find the codes next to a cut after some code. In unsigned numbers, the distance of a code on the other side is larger
// than any on this side.
template <class Code>
Cut neighbors(const CodedItems<Code>& coded, Index cut) {
    const auto last = static_cast<Code>(cut);
    const auto next = static_cast<Code>(cut + 1);
    auto below = last;
    auto above = static_cast<Code>(coded.highest - cut - 1);
    for (const Code code : coded.codes) {
        below = std::min(below, static_cast<Code>(last - code));
        above = std::min(above, static_cast<Code>(code - next));
    }
    return {cut - below, cut + 1 + above};
}

// Draw a value between the smallest and the largest number, and find the codes next to it. The smallest number is
// always on the left; the largest one is on the right if they differ, else only missing values are.
template <class Code>
Cut draw_cut(const Coding& coding, Index f, const CodedItems<Code>& coded, Key key) {
    const Index lowest = coded.lowest;
    const Index highest = coded.highest;
    if (lowest == highest) return {lowest, coding.missing_code(f)};
    const double smallest = coding.lower_of(f, lowest);
    const double value = smallest + uniform(key) * (coding.upper_of(f, highest) - smallest);
    Index cut = lowest;
    if (ssize(coded.codes) <= few_words) {
        // A search among all codes would wait for one number after the other to come from memory. Masks of all bits or
        // none, as a branch cannot be foreseen.
        const double* const upper = coding.upper.data() + coding.offset(f);
        for (const Index code : coded.codes) {
            const Index below_value = -static_cast<Index>(upper[std::min(code, highest)] <= value);
            const Index below_highest = -static_cast<Index>(code < highest);
            cut = std::max(cut, code & below_value & below_highest);
        }
    } else {
        Index above = highest;
        while (above - cut > 1) {
            const Index middle = (cut + above) / 2;
            (coding.upper_of(f, middle) <= value ? cut : above) = middle;
        }
    }
    return neighbors(coded, cut);
}

// Sum up the items with codes from `first` to `last`.
template <class Items, class Code>
Amount sum_between(const Items& items, const CodedItems<Code>& coded, Index first, Index last, std::span<double> sums) {
    if constexpr (requires { items.sum_gathered(coded.codes, first, last, sums); }) {
        return items.sum_gathered(coded.codes, first, last, sums);
    } else {
        Amount sum;
        for (Index k = 0; k < ssize(coded.codes); ++k) {
            const Index item = coded.items[k];
            // A wrong guess at a branch would cost more than a factor.
            const double factor = first <= coded.codes[k] && coded.codes[k] <= last;
            items.add(item, factor * items.weight(item), sums);
            sum.weight += factor * items.weight(item);
            sum.count += factor * items.count(item);
        }
        return sum;
    }
}

}  // namespace fuselearn
