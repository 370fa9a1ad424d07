#include "bindings/tables.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "bindings/trees.hpp"
#include "tables/derived.hpp"
#include "tables/rank_coding.hpp"
#include "tables/sparse_coding.hpp"

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

CodeLimits read_limits(Index most_codes_of_column, Index n_bins) {
    if (most_codes_of_column < 1 || most_codes_of_column > most_codes || n_bins < 1 || n_bins > most_codes)
        raise_value_error("most_codes and n_bins must be numbers from 1 to " + std::to_string(most_codes) + ".");
    return {most_codes_of_column, n_bins};
}

// Code a few columns, given as rows and once more sorted, into the columns of `codes` from `first` on.
nb::tuple code_block(In<double, 2> values, In<double, 2> sorted, In<std::int32_t, 1> n_categories, Index most_of_column,
                     Index n_bins, InOut<std::uint16_t, 2> codes, Index first) {
    const auto numbers = values.read("values");
    const auto ascending = sorted.read("sorted");
    const auto categories = n_categories.read("n_categories");
    const Matrix<std::uint16_t> target = codes.read("codes");
    const CodeLimits limits = read_limits(most_of_column, n_bins);
    const Index n_columns = numbers.shape(0);
    check_length(ascending.shape(0), n_columns, "sorted", "values");
    check_length(ascending.shape(1), numbers.shape(1), "Each column of sorted", "that of values");
    check_length(categories.size(), n_columns, "n_categories", "values");
    check_length(numbers.shape(1), target.n_rows(), "Each column of values", "codes");
    if (first < 0 || first > target.n_columns() - n_columns)
        raise_value_error("codes must have the columns from first on.");
    for (const std::int32_t number : categories.span())
        if (number < 0 || number > most_codes)
            raise_value_error("n_categories must hold numbers from 0 to " + std::to_string(most_codes) + " only.");
    Coding coding;
    run_released([&](Interrupt& interrupt) {
        for (Index f = 0; f < n_columns; ++f) {
            interrupt.check();
            Bounds bounds;
            if (const Index n = categories.span()[static_cast<std::size_t>(f)]; n > 0) {
                bounds.lower.resize(static_cast<std::size_t>(n));
                std::iota(bounds.lower.begin(), bounds.lower.end(), 0.0);
                bounds.upper = bounds.lower;
            } else {
                bounds = find_bounds(ascending.matrix().row(f), limits);
            }
            code_numbers(numbers.matrix().row(f), bounds.lower, target.data() + first + f, target.n_columns());
            coding.n_codes.push_back(static_cast<std::int32_t>(bounds.size()));
            coding.lower.insert(coding.lower.end(), bounds.lower.begin(), bounds.lower.end());
            coding.upper.insert(coding.upper.end(), bounds.upper.begin(), bounds.upper.end());
        }
    });
    return nb::make_tuple(to_array(coding.n_codes), to_array(coding.lower), to_array(coding.upper));
}

// Code other samples by the codes of a table.
template <class Code>
nb::object encode_as(const Coding& coding, Matrix<const double> numbers) {
    const Out<Code, 2> codes({numbers.n_rows(), numbers.n_columns()});
    run_released([&](Interrupt& interrupt) {
        std::vector<double> column(static_cast<std::size_t>(numbers.n_rows()));
        const std::span<const double> lower = coding.lower;
        for (Index f = 0; f < numbers.n_columns(); ++f) {
            interrupt.check();
            for (Index i = 0; i < numbers.n_rows(); ++i) column[static_cast<std::size_t>(i)] = numbers(i, f);
            const auto first = static_cast<std::size_t>(coding.offset(f));
            const auto own = lower.subspan(first, static_cast<std::size_t>(coding.missing_code(f)));
            code_numbers(column, own, codes.data() + f, numbers.n_columns());
        }
    });
    return codes.object();
}

nb::object encode(const Table& table, In<double, 2> X) {
    const auto numbers = X.read("X");
    check_length(numbers.shape(1), table.n_columns(), "Each sample in X", "n_codes");
    if (table.coding().most_codes() <= std::numeric_limits<std::uint8_t>::max())
        return encode_as<std::uint8_t>(table.coding(), numbers.matrix());
    return encode_as<std::uint16_t>(table.coding(), numbers.matrix());
}

// The largest value of each code, in the table and in other samples that have been coded by it.
template <class Code>
nb::object raise_upper_by(const Coding& coding, In<double, 2> X, In<Code, 2> codes) {
    const auto numbers = X.read("X");
    const auto read = codes.read("codes");
    check_length(numbers.shape(0), read.shape(0), "X", "codes");
    check_length(numbers.shape(1), read.shape(1), "Each sample in X", "that in codes");
    const Out<double, 1> upper({ssize(coding.upper)});
    run_released([&](Interrupt&) {
        check_codes(read.matrix(), coding);
        std::copy(coding.upper.begin(), coding.upper.end(), upper.data());
        raise_upper(numbers.matrix(), read.matrix(), coding, upper.span());
    });
    return upper.object();
}

nb::object raise_upper_of(const Table& table, In<double, 2> X, nb::handle codes) {
    if (const In<std::uint8_t, 2> bytes{codes}; bytes.has_dtype()) return raise_upper_by(table.coding(), X, bytes);
    if (const In<std::uint16_t, 2> words{codes}; words.has_dtype()) return raise_upper_by(table.coding(), X, words);
    raise_wrong_array(codes, "codes", "uint8 or uint16", 2);
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
            "codes"_a, "n_codes"_a, "lower"_a, "upper"_a, "is_category"_a.none() = nb::none())
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
        .def(
            "take",
            [](const Table& table, In<std::int64_t, 1> samples) {
                const auto read = samples.read("samples");
                check_range(read.span(), table.n_samples(), "samples");
                return take_samples(table, read.span());
            },
            "samples"_a, "Return a table of some of the samples, which may be repeated.")
        .def(
            "select",
            [](const Table& table, In<std::int64_t, 1> columns) {
                const auto read = columns.read("columns");
                check_range(read.span(), table.n_columns(), "columns");
                return take_columns(table, read.span());
            },
            "columns"_a, "Return a table with some of the columns.")
        .def(
            "append_flags",
            [](const Table& table, In<std::uint8_t, 2> flags) {
                const auto read = flags.read("flags");
                check_length(read.shape(0), table.n_samples(), "flags", "the table");
                check_range(read.span(), 2, "flags");
                return append_flags(table, read.matrix());
            },
            "flags"_a, "Return the table with columns of 0 and 1 behind its own.")
        .def("encode", &encode, "X"_a, "Return the codes of other samples.")
        .def("raise_upper", &raise_upper_of, "X"_a, "codes"_a,
             "Return the largest value of each code, in the table and in other samples that were coded by it.")
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
    module.def("code_block", &code_block, "values"_a, "sorted"_a, "n_categories"_a, "most_codes"_a, "n_bins"_a,
               "codes"_a, "first"_a,
               nb::sig("def code_block(values: NDArray[numpy.float64], sorted: NDArray[numpy.float64], n_categories: "
                       "NDArray[numpy.int32], most_codes: int, n_bins: int, codes: NDArray[numpy.uint16], first: int) "
                       "-> tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]]"));
    module.def("code_entries", &code_sparse, "starts"_a, "samples"_a, "values"_a, "n_samples"_a, "most_codes"_a,
               "n_bins"_a);
}

}  // namespace fuselearn::bindings
