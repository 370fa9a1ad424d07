// A split under consideration, and where its cut lies between two codes.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"

namespace fuselearn {

// Where a code of a category feature goes.
enum class Side : std::uint8_t { right, left, absent };

struct Split {
    Index feature = -1;     // -1: none yet
    Index last_left = 0;    // numeric: the largest code on the left,
    Index first_right = 0;  // and the smallest on the right, both of codes that the node has
    bool missing_left = false;
    bool has_missing = false;
    bool is_category = false;
    Index missing_code = 0;
    std::vector<Side> sides;  // category: by code

    bool goes_left(Index code) const {
        if (is_category) return sides[code] == Side::left;
        if (code == missing_code) return missing_left;
        return code <= last_left;
    }
};

// Put the threshold half-way between two codes, and find the last code of the table below it.
//
// Codes between the two exist where samples of the table were not drawn. If the half-way point falls inside such a bin,
// the bin's lower bound serves, so that codes and values are always split alike.
inline std::pair<double, Index> place_cut(const Coding& coding, Index f, Index last_left, Index first_right) {
    if (first_right == coding.missing_code(f))  // only missing values go right
        return {std::numeric_limits<double>::infinity(), first_right - 1};
    const double below = coding.upper_of(f, last_left);
    const double above = coding.lower_of(f, first_right);
    double threshold = 0.5 * below + 0.5 * above;
    if (!(below < threshold)) threshold = above;  // neighboring floating-point numbers have no number between them
    Index cut = last_left;
    Index above_cut = first_right;
    while (above_cut - cut > 1) {
        const Index middle = (cut + above_cut) / 2;
        (coding.upper_of(f, middle) < threshold ? cut : above_cut) = middle;
    }
    return {std::min(threshold, coding.lower_of(f, cut + 1)), cut};
}

}  // namespace fuselearn
