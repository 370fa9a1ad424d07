// The search for code books: bits are flipped while that moves codewords apart.
//
// A sweep over all bits costs O(bits x classes^2), a flip O(bits + classes). tests/combine/test_code_books.py checks
// that no flip improves the result.

#pragma once

#include <cstdint>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

class CodeSearch {
public:
    // The book is transposed, of shape (n_bits, n_classes), so that the innermost loop runs over neighbors in memory. A
    // pair of classes at distance d that comes closer by one bit changes the price by prices(0, d), one that moves
    // apart by prices(1, d).
    CodeSearch(Matrix<std::int8_t> bits, Matrix<const double> prices)
        : bits_(bits),
          prices_(prices),
          word_distances_(n_classes() * n_classes(), 0),
          column_distances_(n_bits() * n_bits(), 0),
          n_ones_(n_bits(), 0) {
        for (Index b = 0; b < n_bits(); ++b) {
            for (Index c = 0; c < n_classes(); ++c) {
                n_ones_[b] += bits_(b, c);
                for (Index other = 0; other < n_classes(); ++other)
                    word_distance(c, other) += bits_(b, c) ^ bits_(b, other);
            }
            for (Index other = 0; other < b; ++other) {
                std::int32_t distance = 0;
                for (Index c = 0; c < n_classes(); ++c) distance += bits_(b, c) ^ bits_(other, c);
                column_distance(b, other) = column_distance(other, b) = distance;
            }
        }
    }

    // Flip bits while any flip improves the book; return the number of sweeps over all bits.
    Index climb(Index most_sweeps, Interrupt& interrupt) {
        for (Index sweep = 0; sweep < most_sweeps; ++sweep) {
            bool is_changed = false;
            for (Index c = 0; c < n_classes(); ++c) {
                interrupt.check();
                for (Index b = 0; b < n_bits(); ++b) {
                    if (change_by(b, c) >= 0.0 || !stays_useful(b, c)) continue;
                    flip(b, c);
                    is_changed = true;
                }
            }
            if (!is_changed) return sweep + 1;
        }
        return most_sweeps;
    }

private:
    Index n_bits() const { return bits_.n_rows(); }
    Index n_classes() const { return bits_.n_columns(); }
    std::int32_t& word_distance(Index c, Index other) { return word_distances_[c * n_classes() + other]; }
    std::int32_t& column_distance(Index b, Index other) { return column_distances_[b * n_bits() + other]; }

    // What the flip of a bit adds to a distance: it was equal to the other bit, or it was not.
    static std::int32_t step(std::int8_t bit, std::int8_t other) { return 1 - 2 * (bit ^ other); }

    double change_by(Index b, Index c) {
        const auto column = bits_.row(b);
        double change = -prices_(1, 0);  // what the loop adds for the class itself
        for (Index other = 0; other < n_classes(); ++other)
            change += prices_(1 - (column[other] ^ column[c]), word_distance(c, other));
        return change;
    }

    // Whether a flip leaves the column unlike every other one and its complement, and not constant.
    bool stays_useful(Index b, Index c) {
        const std::int8_t bit = bits_(b, c);
        const Index n_ones = n_ones_[b] + step(bit, 0);
        if (n_ones == 0 || n_ones == n_classes()) return false;
        for (Index other = 0; other < n_bits(); ++other) {
            const Index distance = column_distance(b, other) + step(bit, bits_(other, c));
            if (other != b && (distance == 0 || distance == n_classes())) return false;
        }
        return true;
    }

    void flip(Index b, Index c) {
        const auto column = bits_.row(b);
        const std::int8_t bit = column[c];
        for (Index other = 0; other < n_classes(); ++other) {
            if (other == c) continue;
            word_distance(c, other) += step(bit, column[other]);
            word_distance(other, c) += step(bit, column[other]);
        }
        for (Index other = 0; other < n_bits(); ++other) {
            if (other == b) continue;
            column_distance(b, other) += step(bit, bits_(other, c));
            column_distance(other, b) += step(bit, bits_(other, c));
        }
        n_ones_[b] += step(bit, 0);
        column[c] = static_cast<std::int8_t>(1 - bit);
    }

    Matrix<std::int8_t> bits_;
    Matrix<const double> prices_;
    std::vector<std::int32_t> word_distances_, column_distances_, n_ones_;
};

}  // namespace fuselearn
