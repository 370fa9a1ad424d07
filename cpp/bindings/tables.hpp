// Coded tables as Python sees them.
//
// A bound function that works on a table of either kind takes an `AnyTable`, whose `visit` calls the work with a
// `Table` or a `SparseTable`; both have coding(), n_samples() and n_columns(). One that works on dense tables alone
// takes a `const Table&`.

#pragma once

#include "bindings/arrays.hpp"
#include "tables/coding.hpp"
#include "tables/sparse_table.hpp"
#include "tables/table.hpp"

namespace fuselearn::bindings {

// What codes mean, after checks: n_codes >= 0, and as many bounds as codes.
Coding make_coding(In<std::int32_t, 1> n_codes, In<double, 1> lower, In<double, 1> upper, In<bool, 1> is_category);

inline const Coding& coding_of(const Table& table) { return table.coding(); }
inline const Coding& coding_of(const SparseTable& table) { return table.coding; }

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
