// Random cuts of numeric features, as in extremely randomized trees.
//
// A cut is drawn evenly between the smallest and the largest number of a feature in a node. The items of the node may
// come in any order: one pass over their codes finds the range, one the codes next to the cut, and one what is left of
// it. tests/engines/test_growing.py compares the trees with naive ones.

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

// Draw a value between the smallest and the largest number, and find the codes next to it. The smallest number is
// always on the left; the largest one is on the right if they differ, else only missing values are.
template <class Code>
Cut draw_cut(const Coding& coding, Index f, const CodedItems<Code>& coded, Key key) {
    const Index lowest = coded.lowest;
    const Index highest = coded.highest;
    if (lowest == highest) return {lowest, coding.missing_code(f)};
    const double smallest = coding.lower_of(f, lowest);
    const double value = smallest + uniform(key) * (coding.upper_of(f, highest) - smallest);
    if (ssize(coded.codes) <= few_words) {
        // Each number is read from memory without waiting for another one, as a search among all codes would.
        Cut cut{lowest, highest};
        for (const Index code : coded.codes) {
            const Index inside = std::min(code, highest);
            const bool is_left = coding.upper_of(f, inside) <= value && inside < highest;
            cut.last_left = std::max(cut.last_left, is_left ? inside : lowest);
            cut.first_right = std::min(cut.first_right, is_left || inside == lowest ? highest : inside);
        }
        return cut;
    }
    Index below = lowest;
    Index above = highest;
    while (above - below > 1) {
        const Index middle = (below + above) / 2;
        (coding.upper_of(f, middle) <= value ? below : above) = middle;
    }
    const auto cut = static_cast<Code>(below);
    auto last_left = static_cast<Code>(lowest);
    auto first_right = static_cast<Code>(highest);
    for (const Code code : coded.codes) {
        last_left = std::max(last_left, code <= cut ? code : Code{0});
        first_right = std::min(first_right, code <= cut ? static_cast<Code>(highest) : code);
    }
    return {last_left, first_right};
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
