#include "bindings/tables.hpp"

#include <algorithm>
#include <numeric>

#include "bindings/trees.hpp"
#include "tables/derived.hpp"
#include "tables/rank_coding.hpp"

namespace fuselearn::bindings {

namespace {

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

CodesArray codes_of(nb::handle self) {
    const Table& table = nb::cast<const Table&>(self);
    return table.visit([&self](const auto& codes) {
        return nb::borrow<CodesArray>(
            view_of(codes.data(),
                    {static_cast<std::size_t>(codes.n_rows()), static_cast<std::size_t>(codes.n_columns())}, self));
    });
}

auto order_of(const Table& table) {
    if (table.n_samples() > Table::most_sorted_samples)
        raise_value_error("Tables of more than " + std::to_string(Table::most_sorted_samples) +
                          " samples are not kept in order.");
    const auto words = table.sorted_words();
    const Out<std::uint32_t, 2> order({words.n_rows(), words.n_columns()});
    for (Index k = 0; k < ssize(words.flat()); ++k) order.data()[k] = words.data()[k] & 0xFFFFu;
    return order.object();
}

OptionalFlags is_category_of(const Coding& coding, nb::handle owner) {
    if (!coding.has_categories()) return nb::borrow<OptionalFlags>(nb::none());
    return nb::borrow<OptionalFlags>(vector_of(coding.is_category, owner).attr("view")("?"));
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
            Coder(bounds.lower, numbers.shape(1))
                .code(numbers.matrix().row(f), target.data() + first + f, target.n_columns());
            coding.n_codes.push_back(static_cast<std::int32_t>(bounds.size()));
            coding.lower.insert(coding.lower.end(), bounds.lower.begin(), bounds.lower.end());
            coding.upper.insert(coding.upper.end(), bounds.upper.begin(), bounds.upper.end());
        }
    });
    return nb::make_tuple(to_array(coding.n_codes), to_array(coding.lower), to_array(coding.upper));
}

// Code other samples by the codes of a table.
template <class Code>
auto encode_as(const Coding& coding, Matrix<const double> numbers) {
    const Out<Code, 2> codes({numbers.n_rows(), numbers.n_columns()});
    run_released([&](Interrupt& interrupt) { encode_samples(coding, numbers, codes.matrix(), interrupt); });
    return codes.object();
}

CodesArray encode(const Table& table, In<double, 2> X) {
    const auto numbers = X.read("X");
    check_length(numbers.shape(1), table.n_columns(), "Each sample in X", "n_codes");
    if (table.coding().most_codes() <= std::numeric_limits<std::uint8_t>::max())
        return nb::borrow<CodesArray>(encode_as<std::uint8_t>(table.coding(), numbers.matrix()));
    return nb::borrow<CodesArray>(encode_as<std::uint16_t>(table.coding(), numbers.matrix()));
}

// The largest value of each code, in the table and in other samples that have been coded by it.
template <class Code>
auto raise_upper_by(const Coding& coding, In<double, 2> X, In<Code, 2> codes) {
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

auto raise_upper_of(const Table& table, In<double, 2> X, nb::handle codes) {
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

CodeLimits read_limits(Index most_codes_of_column, Index n_bins) {
    if (most_codes_of_column < 1 || most_codes_of_column > most_codes || n_bins < 1 || n_bins > most_codes)
        raise_value_error("most_codes and n_bins must be numbers from 1 to " + std::to_string(most_codes) + ".");
    return {most_codes_of_column, n_bins};
}

void AnyTable::raise_not_a_table(const char* name) const {
    throw nb::type_error(
        (std::string(name) + " must be a Table or a SparseTable, not " + describe(source) + ".").c_str());
}

void bind_tables(nb::module_& module) {
    bind_dense(module);
    module.def("code_block", &code_block, "values"_a, "sorted"_a, "n_categories"_a, "most_codes"_a, "n_bins"_a,
               "codes"_a, "first"_a,
               nb::sig("def code_block(values: NDArray[numpy.float64], sorted: NDArray[numpy.float64], n_categories: "
                       "NDArray[numpy.int32], most_codes: int, n_bins: int, codes: NDArray[numpy.uint16], first: int) "
                       "-> tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]]"));
}

}  // namespace fuselearn::bindings
