// Samples counted per feature, code and class in some nodes of a level, in one part of a table or in all of them.
//
// Bins are numbered feature by feature and code by code, the code for missing values last. A node with many empty bins
// lists the others; one with few has them all. Counts are whole numbers, so that the sum over parts depends neither on
// the parts nor on the order, and a node's counts less those of one child are those of the other.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

// What bins there are, and whether they have sums of the samples' squared numbers of copies.
struct BinShape {
    Index n_bins = 0;
    Index n_classes = 0;
    bool squared = false;

    bool operator==(const BinShape&) const = default;
};

class NodeBins {
public:
    NodeBins() = default;

    // All bins, empty.
    explicit NodeBins(const BinShape& shape)
        : is_dense_(true), counted_(shape.n_bins * shape.n_classes, 0), squares_(shape.squared ? shape.n_bins : 0, 0) {}

    NodeBins(bool is_dense, std::vector<std::uint32_t> numbers, std::vector<std::int32_t> counted,
             std::vector<std::int64_t> squares)
        : is_dense_(is_dense),
          numbers_(std::move(numbers)),
          counted_(std::move(counted)),
          squares_(std::move(squares)) {}

    bool is_dense() const { return is_dense_; }
    // Numbers of the bins that are listed, ascending; nothing if all are there.
    const std::vector<std::uint32_t>& numbers() const { return numbers_; }
    const std::vector<std::int32_t>& counted() const { return counted_; }
    const std::vector<std::int64_t>& squares() const { return squares_; }
    std::vector<std::int32_t>& counted() { return counted_; }
    std::vector<std::int64_t>& squares() { return squares_; }

    Index n_rows(const BinShape& shape) const { return is_dense_ ? shape.n_bins : ssize(numbers_); }

    void reserve(Index n_rows, const BinShape& shape) {
        numbers_.reserve(n_rows);
        counted_.reserve(n_rows * shape.n_classes);
        if (shape.squared) squares_.reserve(n_rows);
    }

    // Append a bin to the list; its counts follow.
    std::span<std::int32_t> append(std::uint32_t number, const BinShape& shape) {
        numbers_.push_back(number);
        counted_.resize(counted_.size() + shape.n_classes, 0);
        if (shape.squared) squares_.push_back(0);
        return {counted_.data() + counted_.size() - shape.n_classes, static_cast<std::size_t>(shape.n_classes)};
    }

    // Add (sign 1) or take away (sign -1) the counts of another part, or of a child. `aside` is for passing use.
    void combine(const NodeBins& other, int sign, const BinShape& shape, NodeBins& aside) {
        if (other.is_dense_ && !is_dense_) spread(shape);
        if (!is_dense_) {
            aside.merge(*this, other, sign, shape);
            *this = aside;
        } else if (other.is_dense_) {
            for (std::size_t k = 0; k < counted_.size(); ++k) counted_[k] = sum(counted_[k], other.counted_[k], sign);
            for (std::size_t k = 0; k < squares_.size(); ++k) squares_[k] += sign * other.squares_[k];
        } else {
            for (Index row = 0; row < ssize(other.numbers_); ++row)
                add_row(other.numbers_[row], other, row, sign, shape);
        }
    }

    // List the bins that are not empty if these are few.
    void settle(const BinShape& shape) {
        if (!is_dense_) {
            if (2 * ssize(numbers_) > shape.n_bins) spread(shape);
            return;
        }
        Index n_filled = 0;
        for (Index b = 0; b < shape.n_bins; ++b) n_filled += is_filled(b, shape);
        if (2 * n_filled > shape.n_bins) return;
        NodeBins listed;
        listed.reserve(n_filled, shape);
        for (Index b = 0; b < shape.n_bins; ++b)
            if (is_filled(b, shape)) listed.append_row(static_cast<std::uint32_t>(b), *this, b, 1, shape);
        *this = std::move(listed);
    }

private:
    // Sums that are too large for their type have been refused before they are used.
    static std::int32_t sum(std::int32_t a, std::int32_t b, int sign) {
        return static_cast<std::int32_t>(std::int64_t{a} + std::int64_t{b} * sign);
    }

    bool is_filled(Index row, const BinShape& shape) const {
        std::int32_t any = 0;
        for (Index j = 0; j < shape.n_classes; ++j) any |= counted_[row * shape.n_classes + j];
        return any != 0;
    }

    void add_row(Index own_row, const NodeBins& other, Index row, int sign, const BinShape& shape) {
        for (Index j = 0; j < shape.n_classes; ++j) {
            std::int32_t& count = counted_[own_row * shape.n_classes + j];
            count = sum(count, other.counted_[row * shape.n_classes + j], sign);
        }
        if (shape.squared) squares_[own_row] += sign * other.squares_[row];
    }

    void append_row(std::uint32_t number, const NodeBins& other, Index row, int sign, const BinShape& shape) {
        append(number, shape);
        add_row(ssize(numbers_) - 1, other, row, sign, shape);
    }

    void spread(const BinShape& shape) {
        NodeBins all(shape);
        for (Index row = 0; row < ssize(numbers_); ++row) all.add_row(numbers_[row], *this, row, 1, shape);
        *this = std::move(all);
    }

    void merge(const NodeBins& a, const NodeBins& b, int sign, const BinShape& shape) {
        resize(ssize(a.numbers_) + ssize(b.numbers_), shape);
        constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
        Index i = 0, k = 0, n_merged = 0;
        while (i < ssize(a.numbers_) || k < ssize(b.numbers_)) {
            const std::uint32_t of_a = i < ssize(a.numbers_) ? a.numbers_[i] : none;
            const std::uint32_t of_b = k < ssize(b.numbers_) ? b.numbers_[k] : none;
            numbers_[n_merged] = std::min(of_a, of_b);
            std::fill_n(counted_.begin() + n_merged * shape.n_classes, shape.n_classes, 0);
            if (shape.squared) squares_[n_merged] = 0;
            if (of_a <= of_b) add_row(n_merged, a, i++, 1, shape);
            if (of_b <= of_a) add_row(n_merged, b, k++, sign, shape);
            n_merged += is_filled(n_merged, shape);  // a child may have had all of its parent's bin
        }
        resize(n_merged, shape);
    }

    void resize(Index n_rows, const BinShape& shape) {
        numbers_.resize(n_rows);
        counted_.resize(n_rows * shape.n_classes);
        squares_.resize(shape.squared ? n_rows : 0);
    }

    bool is_dense_ = false;
    std::vector<std::uint32_t> numbers_;
    std::vector<std::int32_t> counted_;  // of shape (n_rows, n_classes)
    std::vector<std::int64_t> squares_;
};

struct LevelBins {
    BinShape shape;
    std::vector<NodeBins> nodes;

    void add(const LevelBins& other) {
        NodeBins aside;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            nodes[k].combine(other.nodes[k], 1, shape, aside);
            nodes[k].settle(shape);
        }
    }
};

}  // namespace fuselearn
