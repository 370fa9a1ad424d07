// A coded table, prepared once for many trees.
//
// Codes are stored sample by sample, in one byte if no column has more than 255 codes. Other layouts, which some
// storages need, are computed on first use and cached: the samples in the order of each column's codes, and the codes
// by column.

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

    // Tables of up to so many samples keep them in the order of each column.
    static constexpr Index most_sorted_samples = 4000;

    // The samples in the order of each column's codes, as words `code * 2^16 + sample`, of shape (n_columns,
    // n_samples); only for small tables.
    Matrix<const std::uint32_t> sorted_words() const {
        std::call_once(*sorted_once_, [this] { sort_columns(); });
        return {sorted_words_.data(), n_columns(), n_samples_};
    }

    // The codes column by column, of shape (n_columns, n_samples).
    template <class Code>
    Matrix<const Code> by_column() const {
        std::call_once(*turned_once_, [this] { turn(); });
        return {std::get<std::vector<Code>>(turned_).data(), n_columns(), n_samples_};
    }

private:
    void sort_columns() const;
    void turn() const;

    Coding coding_;
    Index n_samples_;
    std::variant<Bytes, Words> codes_;
    // Behind pointers, so that tables can be moved.
    std::unique_ptr<std::once_flag> sorted_once_ = std::make_unique<std::once_flag>();
    std::unique_ptr<std::once_flag> turned_once_ = std::make_unique<std::once_flag>();
    mutable std::vector<std::uint32_t> sorted_words_;
    mutable std::variant<Bytes, Words> turned_;
};

// Sort by counting, so that equal codes keep the order of their samples.
inline void Table::sort_columns() const {
    sorted_words_.resize(n_samples_ * n_columns());
    visit([this](const auto& codes) {
        std::vector<std::uint32_t> starts;
        for (Index f = 0; f < n_columns(); ++f) {
            std::uint32_t* const sorted = sorted_words_.data() + f * n_samples_;
            starts.assign(coding_.missing_code(f) + 2, 0);
            for (Index i = 0; i < n_samples_; ++i) ++starts[codes(i, f) + 1];
            for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
            for (Index i = 0; i < n_samples_; ++i) {
                const std::uint32_t code = codes(i, f);
                sorted[starts[code]++] = (code << 16) | static_cast<std::uint32_t>(i);
            }
        }
    });
}

inline void Table::turn() const {
    visit([this](const auto& codes) {
        using Code = std::remove_cv_t<std::remove_reference_t<decltype(codes(0, 0))>>;
        std::vector<Code> turned(n_samples_ * n_columns());
        for (Index i = 0; i < n_samples_; ++i)
            for (Index f = 0; f < n_columns(); ++f) turned[f * n_samples_ + i] = codes(i, f);
        turned_ = std::move(turned);
    });
}

}  // namespace fuselearn
