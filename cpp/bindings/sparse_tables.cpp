#include <algorithm>

#include "bindings/tables.hpp"
#include "tables/sparse_coding.hpp"

namespace fuselearn::bindings {

namespace {

void check_entries(const SparseTable& table) {
    const auto& [starts, columns, codes] = table.by_sample;
    if (starts.empty() || starts.front() != 0 || starts.back() != ssize(columns) ||
        !std::is_sorted(starts.begin(), starts.end()))
        raise_value_error("starts must ascend from 0 to the number of entries.");
    for (Index i = 0; i < table.n_samples(); ++i) {
        for (auto k = starts[i]; k < starts[i + 1]; ++k) {
            if (columns[k] >= static_cast<std::uint64_t>(table.n_columns()) ||
                (k > starts[i] && columns[k] <= columns[k - 1]))
                raise_value_error("columns must ascend within each sample and be below the number of columns.");
            if (codes[k] > table.coding.missing_code(columns[k])) raise_value_error("codes must not be above n_codes.");
        }
    }
    for (Index f = 0; f < table.n_columns(); ++f)
        if (table.zeros[f] < 0 || table.zeros[f] > std::max<Index>(table.coding.missing_code(f) - 1, 0))
            raise_value_error("zeros must hold a code of each column.");
}

struct Entries {
    In<std::int64_t, 1> starts;
    In<std::uint32_t, 1> columns;
    In<std::uint16_t, 1> codes;
    In<std::int32_t, 1> zeros;
};

SparseTable make_sparse_table(const Entries& entries, Coding coding) {
    const auto starts = entries.starts.read("starts");
    const auto columns = entries.columns.read("columns");
    const auto codes = entries.codes.read("codes");
    const auto zeros = entries.zeros.read("zeros");
    check_length(codes.size(), columns.size(), "codes", "columns");
    check_length(zeros.size(), coding.n_columns(), "zeros", "n_codes");
    SparseTable table;
    run_released([&](Interrupt&) {
        const auto copy = [](const auto& values, auto& kept) {
            kept.assign(values.span().begin(), values.span().end());
        };
        table.coding = std::move(coding);
        copy(zeros, table.zeros);
        copy(starts, table.by_sample.starts);
        copy(columns, table.by_sample.columns);
        copy(codes, table.by_sample.codes);
        check_entries(table);
        table.by_column = sort_by_column(table);
    });
    return table;
}

SparseTable code_sparse(In<std::int64_t, 1> starts, In<std::int32_t, 1> samples, In<double, 1> values, Index n_samples,
                        Index most_of_column, Index n_bins) {
    const auto read_starts = starts.read("starts");
    const auto read_samples = samples.read("samples");
    const auto read_values = values.read("values");
    const CodeLimits limits = read_limits(most_of_column, n_bins);
    if (n_samples < 0) raise_value_error("n_samples must not be negative.");
    check_length(read_values.size(), read_samples.size(), "values", "samples");
    check_range(read_samples.span(), n_samples, "samples");
    const auto bounds = read_starts.span();
    if (bounds.empty() || bounds.front() != 0 || bounds.back() != read_samples.size() ||
        !std::is_sorted(bounds.begin(), bounds.end()))
        raise_value_error("starts must ascend from 0 to the number of entries.");
    for (std::size_t f = 0; f + 1 < bounds.size(); ++f)
        for (auto k = bounds[f] + 1; k < bounds[f + 1]; ++k)
            if (read_samples.span()[static_cast<std::size_t>(k - 1)] >=
                read_samples.span()[static_cast<std::size_t>(k)])
                raise_value_error("samples must ascend within each column.");
    SparseTable table;
    run_released([&](Interrupt& interrupt) {
        table = code_entries({bounds, read_samples.span(), read_values.span(), n_samples}, limits, interrupt);
    });
    return table;
}

}  // namespace

void bind_sparse_tables(nb::module_& module) {
    nb::class_<SparseTable> bound(
        module, "SparseTable",
        "A coded table without categories of which most values are zero: only the other values are listed.\n\n"
        "Codes mean what they do in a ``Table``; ``zeros[f]`` is the code of zero in column ``f``. The entries of\n"
        "sample ``i`` are ``starts[i]`` to ``starts[i + 1] - 1``, their columns ascending.");
    bound
        .def(
            "__init__",
            [](SparseTable* self, In<std::int64_t, 1> starts, In<std::uint32_t, 1> columns, In<std::uint16_t, 1> codes,
               In<std::int32_t, 1> zeros, In<std::int32_t, 1> n_codes, In<double, 1> lower, In<double, 1> upper) {
                new (self) SparseTable(
                    make_sparse_table({starts, columns, codes, zeros}, make_coding(n_codes, lower, upper, {Py_None})));
            },
            "starts"_a, "columns"_a, "codes"_a, "zeros"_a, "n_codes"_a, "lower"_a, "upper"_a)
        .def_prop_ro(
            "by_sample",
            [](nb::handle self) {
                const auto& entries = nb::cast<const SparseTable&>(self).by_sample;
                return nb::make_tuple(vector_of(entries.starts, self), vector_of(entries.columns, self),
                                      vector_of(entries.codes, self));
            },
            "Starts, columns and codes of the entries, sample by sample.")
        .def_prop_ro(
            "by_column",
            [](nb::handle self) {
                const auto& entries = nb::cast<const SparseTable&>(self).by_column;
                return nb::make_tuple(vector_of(entries.starts, self), vector_of(entries.samples, self),
                                      vector_of(entries.codes, self));
            },
            "Starts, samples and codes of the entries, column by column and sorted by code.")
        .def_prop_ro(
            "zeros", [](nb::handle self) { return vector_of(nb::cast<const SparseTable&>(self).zeros, self); },
            "Code of zero in each column.")
        .def_prop_ro(
            "is_category", [](const SparseTable&) { return nb::none(); }, "None: no column holds categories.")
        .def("__getstate__",
             [](nb::handle self) {
                 const SparseTable& table = nb::cast<const SparseTable&>(self);
                 return nb::make_tuple(vector_of(table.by_sample.starts, self),
                                       vector_of(table.by_sample.columns, self), vector_of(table.by_sample.codes, self),
                                       vector_of(table.zeros, self), vector_of(table.coding.n_codes, self),
                                       vector_of(table.coding.lower, self), vector_of(table.coding.upper, self));
             })
        .def("__setstate__", [](SparseTable& self, const nb::tuple& state) {
            if (state.size() != 7) raise_value_error("The state of a sparse table has seven parts.");
            const nb::object starts = state[0], columns = state[1], codes = state[2], zeros = state[3];
            const nb::object n_codes = state[4], lower = state[5], upper = state[6];
            new (&self) SparseTable(make_sparse_table({{starts}, {columns}, {codes}, {zeros}},
                                                      make_coding({n_codes}, {lower}, {upper}, {Py_None})));
        });
    add_coding(bound);
    module.def("code_entries", &code_sparse, "starts"_a, "samples"_a, "values"_a, "n_samples"_a, "most_codes"_a,
               "n_bins"_a);
}

}  // namespace fuselearn::bindings
