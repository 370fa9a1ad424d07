// Tables made of other tables: some of their samples, some of their columns, or with columns of 0 and 1 behind them.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"
#include "tables/table.hpp"

namespace fuselearn {

// Append a column to a coding, given the bounds of its codes.
inline void append_column(Coding& coding, std::span<const double> lower, std::span<const double> upper,
                          bool is_category) {
    coding.n_codes.push_back(static_cast<std::int32_t>(lower.size()));
    coding.offsets.push_back(coding.offsets.back() + ssize(lower));
    coding.lower.insert(coding.lower.end(), lower.begin(), lower.end());
    coding.upper.insert(coding.upper.end(), upper.begin(), upper.end());
    if (is_category) coding.is_category.resize(coding.n_codes.size() - 1, 0);
    if (is_category || coding.has_categories()) coding.is_category.push_back(is_category ? 1 : 0);
}

// A table with the same columns; samples may be repeated.
inline Table take_samples(const Table& table, std::span<const std::int64_t> samples) {
    return table.visit([&](const auto& codes) {
        using Code = std::remove_cvref_t<decltype(codes(0, 0))>;
        std::vector<Code> taken;
        taken.reserve(samples.size() * static_cast<std::size_t>(table.n_columns()));
        for (const std::int64_t i : samples) {
            const auto sample = codes.row(static_cast<Index>(i));
            taken.insert(taken.end(), sample.begin(), sample.end());
        }
        return Table(table.coding(), ssize(samples), std::move(taken));
    });
}

inline Table take_columns(const Table& table, std::span<const std::int64_t> columns) {
    const Coding& all = table.coding();
    Coding coding;
    coding.offsets.assign(1, 0);
    const auto part = [&all](const std::vector<double>& bounds, Index f) {
        return std::span(bounds).subspan(static_cast<std::size_t>(all.offset(f)),
                                         static_cast<std::size_t>(all.missing_code(f)));
    };
    for (const std::int64_t column : columns) {
        const auto f = static_cast<Index>(column);
        append_column(coding, part(all.lower, f), part(all.upper, f), all.is_category_column(f));
    }
    return table.visit([&](const auto& codes) {
        using Code = std::remove_cvref_t<decltype(codes(0, 0))>;
        std::vector<Code> taken(static_cast<std::size_t>(table.n_samples()) * columns.size());
        Code* next = taken.data();
        for (Index i = 0; i < table.n_samples(); ++i)
            for (const std::int64_t f : columns) *next++ = codes(i, static_cast<Index>(f));
        return Table(std::move(coding), table.n_samples(), std::move(taken));
    });
}

// A table with columns of 0 and 1 behind its own, as many rows as it has samples.
inline Table append_flags(const Table& table, Matrix<const std::uint8_t> flags) {
    Coding coding = table.coding();
    const double bounds[] = {0.0, 1.0};
    for (Index f = 0; f < flags.n_columns(); ++f) append_column(coding, bounds, bounds, false);
    return table.visit([&](const auto& codes) {
        using Code = std::remove_cvref_t<decltype(codes(0, 0))>;
        std::vector<Code> joined;
        joined.reserve(static_cast<std::size_t>(table.n_samples() * (table.n_columns() + flags.n_columns())));
        for (Index i = 0; i < table.n_samples(); ++i) {
            joined.insert(joined.end(), codes.row(i).begin(), codes.row(i).end());
            joined.insert(joined.end(), flags.row(i).begin(), flags.row(i).end());
        }
        return Table(std::move(coding), table.n_samples(), std::move(joined));
    });
}

}  // namespace fuselearn
