// A coded table, bound once for many trees.
//
// Codes lie sample by sample, in one byte where no column has more than 255 codes. What some ways of growing need
// besides is made on first use and kept: the samples in the order of each column's codes, and the codes by column.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"

namespace fuselearn {

class Table {
public:
    using Bytes = std::vector<std::uint8_t>;
    using Words = std::vector<std::uint16_t>;

    Table(Coding coding, Index n_samples, std::variant<Bytes, Words> codes)
        : coding_(std::move(coding)), n_samples_(n_samples), codes_(std::move(codes)) {}

    const Coding& coding() const { return coding_; }
    Index n_samples() const { return n_samples_; }
    Index n_columns() const { return coding_.n_columns(); }
    bool has_bytes() const { return std::holds_alternative<Bytes>(codes_); }

    // Call work with the codes as a Matrix of std::uint8_t or std::uint16_t, of shape (n_samples, n_columns).
    template <class Work>
    auto visit(Work&& work) const {
        return std::visit(
            [&](const auto& codes) {
                using Code = typename std::decay_t<decltype(codes)>::value_type;
                return work(Matrix<const Code>(codes.data(), n_samples_, n_columns()));
            },
            codes_);
    }

    // Tables of up to so many samples keep the order of their samples by each column.
    static constexpr Index most_ordered_samples = 4000;

    // The samples in the order of each column's codes, of shape (n_columns, n_samples); only for small tables.
    Matrix<const std::uint32_t> order() const {
        std::call_once(*order_made_, [this] { make_order(); });
        return {order_.data(), n_columns(), n_samples_};
    }

private:
    void make_order() const;

    Coding coding_;
    Index n_samples_;
    std::variant<Bytes, Words> codes_;
    // Behind a pointer, so that tables can be moved.
    std::unique_ptr<std::once_flag> order_made_ = std::make_unique<std::once_flag>();
    mutable std::vector<std::uint32_t> order_;
};

// Sort by counting, so that equal codes keep the order of their samples.
inline void Table::make_order() const {
    order_.resize(n_samples_ * n_columns());
    visit([this](const auto& codes) {
        std::vector<std::uint32_t> starts;
        for (Index f = 0; f < n_columns(); ++f) {
            starts.assign(coding_.missing_code(f) + 2, 0);
            for (Index i = 0; i < n_samples_; ++i) ++starts[codes(i, f) + 1];
            for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
            for (Index i = 0; i < n_samples_; ++i) {
                const auto place = static_cast<Index>(starts[codes(i, f)]++);
                order_[f * n_samples_ + place] = static_cast<std::uint32_t>(i);
            }
        }
    });
}

}  // namespace fuselearn
