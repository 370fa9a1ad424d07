// Bindings for coded tables.
//
// A bound function that works on a table of either kind takes an `AnyTable`, whose `visit` calls the work with a
// `Table` or a `SparseTable`; both have coding(), n_samples() and n_columns(). One that works on dense tables alone
// takes a `const Table&`.

#pragma once

#include <limits>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/trees.hpp"
#include "tables/coding.hpp"
#include "tables/rank_coding.hpp"
#include "tables/sparse_table.hpp"
#include "tables/table.hpp"

namespace fuselearn::bindings {

// What codes mean, after checks: n_codes >= 0, and as many bounds as codes.
Coding make_coding(In<std::int32_t, 1> n_codes, In<double, 1> lower, In<double, 1> upper, In<bool, 1> is_category);

inline const Coding& coding_of(const Table& table) { return table.coding(); }
inline const Coding& coding_of(const SparseTable& table) { return table.coding; }

// A code has two bytes, and one more code means missing.
inline constexpr std::int32_t most_codes = std::numeric_limits<std::uint16_t>::max();

// Raise an error for invalid maximum numbers of codes and bins.
CodeLimits read_limits(Index most_codes_of_column, Index n_bins);

template <class T>
auto vector_of(const std::vector<T>& values, nb::handle owner) {
    return view_of(values.data(), {values.size()}, owner);
}

// Bind the attributes that describe the codes of a table.
template <class AnyKind>
void add_coding(nb::class_<AnyKind>& bound) {
    const auto coding = [](nb::handle self) -> const Coding& { return coding_of(nb::cast<const AnyKind&>(self)); };
    bound
        .def_prop_ro(
            "n_codes", [coding](nb::handle self) { return vector_of(coding(self).n_codes, self); },
            "Number of codes of each column.")
        .def_prop_ro(
            "offsets", [coding](nb::handle self) { return vector_of(coding(self).offsets, self); },
            "Index in ``lower`` and ``upper`` of each column's first code, and the end.")
        .def_prop_ro(
            "lower", [coding](nb::handle self) { return vector_of(coding(self).lower, self); },
            "Smallest value of each code.")
        .def_prop_ro(
            "upper", [coding](nb::handle self) { return vector_of(coding(self).upper, self); },
            "Largest value of each code.")
        .def_prop_ro(
            "n_samples", [](const AnyKind& table) { return table.n_samples(); }, "Number of samples.")
        .def_prop_ro("n_columns", [](const AnyKind& table) { return table.n_columns(); }, "Number of columns.");
}

struct AnyTable {
    nb::handle source;

    template <class Work>
    auto visit(const char* name, const Work& work) const {
        if (const Table* table; nb::try_cast<const Table*>(source, table, false) && table != nullptr)
            return work(*table);
        if (const SparseTable* table; nb::try_cast<const SparseTable*>(source, table, false) && table != nullptr)
            return work(*table);
        raise_not_a_table(name);
    }

private:
    [[noreturn]] void raise_not_a_table(const char* name) const;
};

}  // namespace fuselearn::bindings

namespace nanobind::detail {

template <>
struct type_caster<fuselearn::bindings::AnyTable> {
    NB_TYPE_CASTER(fuselearn::bindings::AnyTable, const_name("Table | SparseTable"))
    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        value.source = source;
        return true;
    }
};

}  // namespace nanobind::detail
