#include "bindings/tables.hpp"

#include <algorithm>
#include <limits>

#include "bindings/trees.hpp"

namespace fuselearn::bindings {

namespace {

// A code has two bytes, and one more code means missing.
constexpr std::int32_t most_codes = std::numeric_limits<std::uint16_t>::max();

// Raise a sentence unless every code is one of its column, or the one that means missing.
template <class Code>
void check_codes(const Matrix<const Code>& codes, const Coding& coding) {
    check_length(codes.n_columns(), coding.n_columns(), "Each sample in codes", "n_codes");
    std::vector<Code> largest(static_cast<std::size_t>(codes.n_columns()), 0);
    Code* const seen = largest.data();
    for (Index i = 0; i < codes.n_rows(); ++i) {
        const Code* const sample = codes.row(i).data();
        for (Index f = 0; f < codes.n_columns(); ++f) seen[f] = std::max(seen[f], sample[f]);
    }
    for (Index f = 0; f < codes.n_columns(); ++f)
        if (seen[f] > coding.missing_code(f))
            raise_value_error("codes must not be above n_codes, but column " + std::to_string(f) + " has the code " +
                              std::to_string(seen[f]) + ".");
}

template <class Code>
Table read_table(In<Code, 2> codes, const Coding& coding) {
    const auto values = codes.read("codes");
    std::vector<Code> kept;
    run_released([&](Interrupt&) {
        check_codes(values.matrix(), coding);
        kept.assign(values.span().begin(), values.span().end());
    });
    return Table(coding, values.shape(0), std::move(kept));
}

Table make_table(nb::handle codes, const Coding& coding) {
    if (const In<std::uint8_t, 2> bytes{codes}; bytes.has_dtype()) return read_table(bytes, coding);
    if (const In<std::uint16_t, 2> words{codes}; words.has_dtype()) return read_table(words, coding);
    raise_wrong_array(codes, "codes", "uint8 or uint16", 2);
}

template <class T>
nb::object vector_of(const std::vector<T>& values, nb::handle owner) {
    return view_of(values.data(), {values.size()}, owner);
}

nb::object codes_of(nb::handle self) {
    const Table& table = nb::cast<const Table&>(self);
    return table.visit([&self](const auto& codes) {
        return view_of(codes.data(),
                       {static_cast<std::size_t>(codes.n_rows()), static_cast<std::size_t>(codes.n_columns())}, self);
    });
}

nb::object order_of(const Table& table) {
    if (table.n_samples() > Table::most_sorted_samples)
        raise_value_error("Tables of more than " + std::to_string(Table::most_sorted_samples) +
                          " samples are not kept in order.");
    const auto words = table.sorted_words();
    const Out<std::uint32_t, 2> order({words.n_rows(), words.n_columns()});
    for (Index k = 0; k < ssize(words.flat()); ++k) order.data()[k] = words.data()[k] & 0xFFFFu;
    return order.object();
}

nb::object is_category_of(const Coding& coding, nb::handle owner) {
    if (!coding.has_categories()) return nb::none();
    return vector_of(coding.is_category, owner).attr("view")("?");
}

// Let Python read what the codes of a table mean.
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

void bind_dense(nb::module_& module) {
    nb::class_<Table> bound(
        module, "Table",
        "A table of codes and what is needed to turn a code back into a value.\n\n"
        "Code ``c`` of column ``f`` stands for the values from ``lower[offsets[f] + c]`` to\n"
        "``upper[offsets[f] + c]``, which are equal in a column that keeps its distinct values apart. The code\n"
        "``n_codes[f]`` means missing. ``is_category`` is None if no column holds categories.");
    bound
        .def(
            "__init__",
            [](Table* self, nb::handle codes, In<std::int32_t, 1> n_codes, In<double, 1> lower, In<double, 1> upper,
               In<bool, 1> is_category) {
                new (self) Table(make_table(codes, make_coding(n_codes, lower, upper, is_category)));
            },
            "codes"_a, "n_codes"_a, "lower"_a, "upper"_a, "is_category"_a = nb::none())
        .def_prop_ro("codes", &codes_of, "Codes of shape (n_samples, n_columns), read-only.")
        .def_prop_ro(
            "is_category", [](nb::handle self) { return is_category_of(nb::cast<const Table&>(self).coding(), self); },
            "Whether each column holds categories; None if no column does.")
        .def("order", &order_of, "Return the samples in the order of each column's codes, for small tables.")
        .def(
            "with_codes", [](const Table& table, nb::handle codes) { return make_table(codes, table.coding()); },
            "codes"_a, "Return a table of other samples whose codes mean the same.")
        .def(
            "with_upper",
            [](nb::handle self, In<double, 1> upper) {
                const Table& table = nb::cast<const Table&>(self);
                const auto values = upper.read("upper");
                check_length(values.size(), ssize(table.coding().upper), "upper", "lower");
                Coding coding = table.coding();
                coding.upper.assign(values.span().begin(), values.span().end());
                return make_table(codes_of(self), coding);
            },
            "upper"_a, "Return the table with other largest values of its codes.")
        .def("__getstate__",
             [](nb::handle self) {
                 const Coding& coding = nb::cast<const Table&>(self).coding();
                 return nb::make_tuple(codes_of(self), vector_of(coding.n_codes, self), vector_of(coding.lower, self),
                                       vector_of(coding.upper, self), is_category_of(coding, self));
             })
        .def("__setstate__", [](Table& self, const nb::tuple& state) {
            if (state.size() != 5) raise_value_error("The state of a table has five parts.");
            const nb::object codes = state[0], n_codes = state[1], lower = state[2], upper = state[3], flags = state[4];
            new (&self) Table(make_table(codes, make_coding({n_codes}, {lower}, {upper}, {flags})));
        });
    add_coding(bound);
}

// Entries column by column, by counting: equal codes keep the order of their samples.
SparseTable::ByColumn sort_by_column(const SparseTable& table) {
    const auto& [starts, columns, codes] = table.by_sample;
    const auto n_columns = static_cast<std::size_t>(table.n_columns());
    std::vector<std::int64_t> bin_starts(n_columns + 1, 0);  // a bin for each code and for missing values
    for (std::size_t f = 0; f < n_columns; ++f) bin_starts[f + 1] = bin_starts[f] + table.coding.n_codes[f] + 1;
    const auto bin_of = [&](std::size_t k) { return static_cast<std::size_t>(bin_starts[columns[k]] + codes[k]); };
    std::vector<std::int64_t> next(static_cast<std::size_t>(bin_starts.back()) + 1, 0);
    for (std::size_t k = 0; k < codes.size(); ++k) ++next[bin_of(k) + 1];
    for (std::size_t bin = 1; bin < next.size(); ++bin) next[bin] += next[bin - 1];
    SparseTable::ByColumn sorted;
    sorted.starts.reserve(n_columns + 1);
    for (const std::int64_t bin : bin_starts) sorted.starts.push_back(next[static_cast<std::size_t>(bin)]);
    sorted.samples.resize(codes.size());
    sorted.codes.resize(codes.size());
    for (Index i = 0; i < table.n_samples(); ++i) {
        for (auto k = static_cast<std::size_t>(starts[i]); k < static_cast<std::size_t>(starts[i + 1]); ++k) {
            const auto target = static_cast<std::size_t>(next[bin_of(k)]++);
            sorted.samples[target] = static_cast<std::uint32_t>(i);
            sorted.codes[target] = codes[k];
        }
    }
    return sorted;
}

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

void bind_sparse(nb::module_& module) {
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
                new (self) SparseTable(make_sparse_table({starts, columns, codes, zeros},
                                                         make_coding(n_codes, lower, upper, {nb::none()})));
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
                                                      make_coding({n_codes}, {lower}, {upper}, {nb::none()})));
        });
    add_coding(bound);
}

}  // namespace

Coding make_coding(In<std::int32_t, 1> n_codes, In<double, 1> lower, In<double, 1> upper, In<bool, 1> is_category) {
    const auto numbers = n_codes.read("n_codes");
    const auto low = lower.read("lower");
    const auto high = upper.read("upper");
    Coding coding;
    coding.n_codes.assign(numbers.span().begin(), numbers.span().end());
    coding.offsets.assign(1, 0);
    for (const std::int32_t number : coding.n_codes) {
        if (number < 0 || number > most_codes)
            raise_value_error("n_codes must hold numbers from 0 to " + std::to_string(most_codes) + " only.");
        coding.offsets.push_back(coding.offsets.back() + number);
    }
    check_length(low.size(), coding.offsets.back(), "lower", "all codes");
    check_length(high.size(), coding.offsets.back(), "upper", "all codes");
    coding.lower.assign(low.span().begin(), low.span().end());
    coding.upper.assign(high.span().begin(), high.span().end());
    if (!is_category.is_none()) {
        const auto flags = is_category.read("is_category");
        check_length(flags.size(), coding.n_columns(), "is_category", "n_codes");
        if (std::find(flags.span().begin(), flags.span().end(), true) != flags.span().end())
            coding.is_category.assign(flags.span().begin(), flags.span().end());
    }
    return coding;
}

void AnyTable::raise_not_a_table(const char* name) const {
    throw nb::type_error(
        (std::string(name) + " must be a Table or a SparseTable, not " + describe(source) + ".").c_str());
}

void bind_tables(nb::module_& module) {
    bind_dense(module);
    bind_sparse(module);
}

}  // namespace fuselearn::bindings
