// The entries of each column of a coded table, sorted by code, as searches for stumps walk through them.
//
// Samples without an entry in column f have the code rest_codes[f]. Tables that are not sparse list all their values.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"
#include "tables/sparse_table.hpp"
#include "tables/table.hpp"

namespace fuselearn {

class PairTable {
public:
    explicit PairTable(const SparseTable& table)
        : coding_(&table.coding),
          n_samples_(table.n_samples()),
          starts_(table.by_column.starts),
          samples_(table.by_column.samples),
          codes_(table.by_column.codes),
          rest_codes_(table.zeros.begin(), table.zeros.end()) {}

    explicit PairTable(const Table& table)
        : coding_(&table.coding()), n_samples_(table.n_samples()), rest_codes_(table.n_columns(), 0) {
        own_starts_.reserve(table.n_columns() + 1);
        for (Index f = 0; f <= table.n_columns(); ++f) own_starts_.push_back(f * n_samples_);
        own_samples_.resize(n_samples_ * table.n_columns());
        own_codes_.resize(n_samples_ * table.n_columns());
        table.visit([&](const auto& codes) {
            for (Index f = 0; f < table.n_columns(); ++f) sort_column(codes, f);
        });
        starts_ = own_starts_;
        samples_ = own_samples_;
        codes_ = own_codes_;
    }
    PairTable(const PairTable&) = delete;
    PairTable& operator=(const PairTable&) = delete;

    const Coding& coding() const { return *coding_; }
    Index n_samples() const { return n_samples_; }
    Index n_columns() const { return coding_->n_columns(); }
    Index n_entries() const { return ssize(samples_); }
    Index rest_code(Index f) const { return rest_codes_[f]; }
    std::span<const std::uint32_t> samples(Index f) const {
        return samples_.subspan(starts_[f], starts_[f + 1] - starts_[f]);
    }
    std::span<const std::uint16_t> codes(Index f) const {
        return codes_.subspan(starts_[f], starts_[f + 1] - starts_[f]);
    }

private:
    // By counting, so that equal codes keep the order of their samples.
    template <class Codes>
    void sort_column(const Codes& codes, Index f) {
        std::vector<Index> next(coding_->missing_code(f) + 2, f * n_samples_);
        for (Index i = 0; i < n_samples_; ++i) ++next[codes(i, f) + 1];
        for (std::size_t c = 1; c < next.size(); ++c) next[c] += next[c - 1] - f * n_samples_;
        for (Index i = 0; i < n_samples_; ++i) {
            const Index position = next[codes(i, f)]++;
            own_samples_[position] = static_cast<std::uint32_t>(i);
            own_codes_[position] = codes(i, f);
        }
    }

    const Coding* coding_;
    Index n_samples_;
    std::vector<std::int64_t> own_starts_;  // empty for a sparse table, which keeps them itself
    std::vector<std::uint32_t> own_samples_;
    std::vector<std::uint16_t> own_codes_;
    std::span<const std::int64_t> starts_;
    std::span<const std::uint32_t> samples_;
    std::span<const std::uint16_t> codes_;
    std::vector<Index> rest_codes_;
};

}  // namespace fuselearn
