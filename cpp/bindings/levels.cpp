// Trees that grow level by level on a table in parts: samples counted in a part, samples that descend, and the tree
// itself.

#include <nanobind/stl/vector.h>

#include <cstring>

#include "bindings/tables.hpp"
#include "bindings/trees.hpp"
#include "levels/counting.hpp"
#include "levels/descending.hpp"
#include "levels/growing_tree.hpp"
#include "levels/level_bins.hpp"
#include "trees/table_descent.hpp"

namespace fuselearn::bindings {

namespace {

// Call work with the codes of a part, read as what they are.
template <class Work>
auto visit_codes(nb::handle codes, const Work& work) {
    if (const In<std::uint8_t, 2> bytes{codes}; bytes.has_dtype()) return work(bytes.read("codes"));
    if (const In<std::uint16_t, 2> words{codes}; words.has_dtype()) return work(words.read("codes"));
    raise_wrong_array(codes, "codes", "uint8 or uint16", 2);
}

struct ReadColumns {
    Values<std::int64_t, 1> features;
    Values<std::int32_t, 1> n_codes;

    template <class Code>
    PartColumns<Code> view(const Values<Code, 2>& codes) const {
        return {codes.matrix(), features.span(), n_codes.span()};
    }
};

template <class Code>
void check_n_codes(std::span<const std::int32_t> n_codes) {
    for (const std::int32_t n : n_codes)
        if (n < 0 || n > std::numeric_limits<Code>::max())
            raise_value_error("n_codes must hold numbers of codes of the type of codes.");
}

// Features of a part, and how many codes each of them has.
template <class Code>
ReadColumns read_columns(const Values<Code, 2>& codes, In<std::int64_t, 1> features, In<std::int32_t, 1> n_codes) {
    ReadColumns columns{features.read("features"), n_codes.read("n_codes")};
    if (columns.features.size() == 0) raise_value_error("features must not be empty.");
    check_range(columns.features.span(), codes.shape(1), "features");
    check_length(columns.n_codes.size(), columns.features.size(), "n_codes", "features");
    check_n_codes<Code>(columns.n_codes.span());
    return columns;
}

struct ReadDrawn {
    Values<std::uint32_t, 1> samples;
    Values<std::int32_t, 1> copies;
    Values<std::int64_t, 1> ends;

    DrawnSamples view() const { return {samples.span(), copies.span(), ends.span()}; }
};

struct DrawnArguments {
    In<std::uint32_t, 1> samples;
    In<std::int32_t, 1> copies;
    In<std::int64_t, 1> ends;
};

ReadDrawn read_drawn(const DrawnArguments& arguments, Index n_samples) {
    ReadDrawn drawn{arguments.samples.read("samples"), arguments.copies.read("copies"), arguments.ends.read("ends")};
    check_length(drawn.copies.size(), drawn.samples.size(), "copies", "samples");
    if (drawn.samples.size() > 0) check_range(drawn.samples.span(), n_samples, "samples");
    const auto ends = drawn.ends.span();
    const bool ascend = std::is_sorted(ends.begin(), ends.end()) && (ends.empty() || ends.front() >= 0);
    if (!ascend || (ends.empty() ? 0 : ends.back()) != drawn.samples.size())
        raise_value_error("ends must ascend to the number of samples.");
    const auto copies = drawn.copies.span();
    if (std::any_of(copies.begin(), copies.end(), [](std::int32_t n) { return n < 0; }))
        raise_value_error("copies must not be negative.");
    return drawn;
}

LevelBins count_bins(In<std::uint32_t, 1> samples, In<std::int32_t, 1> copies, In<std::int64_t, 1> ends,
                     nb::handle codes, In<std::int64_t, 1> features, In<std::int32_t, 1> n_codes,
                     In<std::int32_t, 1> classes, Index n_classes, In<std::int64_t, 1> nodes, bool squared) {
    return visit_codes(codes, [&]<class Code>(const Values<Code, 2>& read_codes) {
        const ReadColumns columns = read_columns(read_codes, features, n_codes);
        const ReadDrawn drawn = read_drawn({samples, copies, ends}, read_codes.shape(0));
        const auto read_classes = classes.read("classes");
        check_length(read_classes.size(), read_codes.shape(0), "classes", "codes");
        if (n_classes < 1) raise_value_error("n_classes must be at least 1.");
        check_range(read_classes.span(), n_classes, "classes");
        const auto read_nodes = nodes.read("nodes");
        check_range(read_nodes.span(), drawn.ends.size(), "nodes");
        LevelBins bins;
        bool has_bad_code = false;
        run_released([&](Interrupt& interrupt) {
            try {
                NodeCounter<Code> counter(columns.view(read_codes), read_classes.span(), n_classes, squared);
                bins = count_level(counter, drawn.view(), read_nodes.span(), interrupt);
            } catch (const BadCode&) {
                has_bad_code = true;
            }
        });
        if (has_bad_code) raise_value_error(BadCode().what());
        return bins;
    });
}

// Raise an error unless the splits are on features of the part.
void check_splits(const LevelSplits& splits, const ReadColumns& columns, Index n_nodes) {
    check_length(ssize(splits.nodes), n_nodes, "splits", "ends");
    for (Index k = 0; k < ssize(splits.nodes); ++k) {
        const Node& node = splits.nodes[k];
        if (!splits.goes_on(k)) continue;
        if (node.feature < 0 || node.feature >= columns.features.size())
            raise_value_error("splits must be by one of the features.");
        const Index n_words = (columns.n_codes.span()[node.feature] + 31) / 32;
        if (node.is_category && (node.cut < 0 || node.cut + n_words > ssize(splits.subsets)))
            raise_value_error("splits must have subsets of all categories.");
    }
}

nb::tuple descend(In<std::uint32_t, 1> samples, In<std::int32_t, 1> copies, In<std::int64_t, 1> ends, nb::handle codes,
                  In<std::int64_t, 1> features, In<std::int32_t, 1> n_codes, const LevelSplits& splits) {
    return visit_codes(codes, [&]<class Code>(const Values<Code, 2>& read_codes) {
        const ReadColumns columns = read_columns(read_codes, features, n_codes);
        const ReadDrawn drawn = read_drawn({samples, copies, ends}, read_codes.shape(0));
        check_splits(splits, columns, drawn.ends.size());
        Descended next;
        run_released([&](Interrupt& interrupt) {
            next = Descent<Code>(columns.view(read_codes), splits).descend(drawn.view(), interrupt);
        });
        return nb::make_tuple(to_array(next.samples), to_array(next.copies), to_array(next.ends));
    });
}

nb::tuple state_of(const LevelSplits& splits) {
    const Out<std::uint8_t, 1> bytes({ssize(splits.nodes) * static_cast<Index>(sizeof(Node))});
    if (!splits.nodes.empty()) std::memcpy(bytes.data(), splits.nodes.data(), bytes.span().size());
    return nb::make_tuple(bytes.object(), to_array(splits.subsets), to_array(splits.children), splits.n_children);
}

template <class T>
T read_number(nb::handle value, const char* name) {
    T number{};
    if (!nb::try_cast(value, number))
        throw nb::type_error((std::string(name) + " must be a number, not " + describe(value) + ".").c_str());
    return number;
}

LevelSplits make_splits(const nb::tuple& state) {
    if (state.size() != 4) raise_value_error("The state of splits has four parts.");
    const nb::object kept[3] = {state[0], state[1], state[2]};
    const auto bytes = In<std::uint8_t, 1>{kept[0]}.read("nodes of the state");
    const auto subsets = In<std::uint32_t, 1>{kept[1]}.read("subsets of the state");
    const auto children = In<std::int64_t, 1>{kept[2]}.read("children of the state");
    LevelSplits splits;
    splits.nodes = read_node_bytes(bytes.span());
    splits.subsets.assign(subsets.span().begin(), subsets.span().end());
    splits.children.assign(children.span().begin(), children.span().end());
    splits.n_children = read_number<Index>(state[3], "n_children of the state");
    check_length(children.size(), 2 * ssize(splits.nodes), "children of the state", "both sides of nodes");
    std::int64_t next = 0;
    for (const std::int64_t child : splits.children)
        if (child != -1 && child != next++)
            raise_value_error("children of the state must be numbered one after the other, or -1.");
    if (next != splits.n_children) raise_value_error("n_children of the state must be the number of children.");
    return splits;
}

auto reach_leaves(const Tree& tree, nb::handle codes, In<std::int32_t, 1> n_codes) {
    return visit_codes(codes, [&]<class Code>(const Values<Code, 2>& read_codes) {
        const auto numbers = n_codes.read("n_codes");
        check_length(numbers.size(), read_codes.shape(1), "n_codes", "each sample in codes");
        check_n_codes<Code>(numbers.span());
        Coding coding;
        coding.n_codes.assign(numbers.span().begin(), numbers.span().end());
        for (const Node& node : tree.nodes) {
            if (node.is_leaf()) continue;
            if (node.feature >= coding.n_columns())
                raise_value_error("A node of a tree splits a column that does not exist.");
            if (node.is_category && node.cut + (coding.missing_code(node.feature) + 31) / 32 > ssize(tree.subsets))
                raise_value_error("A node of a tree refers to categories out of place.");
        }
        const Matrix<const Code> matrix = read_codes.matrix();
        const Out<std::int32_t, 1> leaves({matrix.n_rows()});
        bool in_range = true;
        run_released([&](Interrupt& interrupt) {
            in_range = are_codes_in_range(matrix, coding.n_codes);
            if (!in_range) return;
            const TableSteps steps(tree, coding);
            const auto codes_of = [&](Index i) { return matrix.row(i).data(); };
            const auto visit = [&](Index i, Index leaf) { leaves.data()[i] = static_cast<std::int32_t>(leaf); };
            if (tree.n_nodes() == 1)
                std::fill(leaves.span().begin(), leaves.span().end(), 0);
            else if (steps.has_categories())
                descend_table<true>(steps, matrix.n_rows(), codes_of, interrupt, visit);
            else
                descend_table<false>(steps, matrix.n_rows(), codes_of, interrupt, visit);
        });
        if (!in_range) raise_value_error(BadCode().what());
        return leaves.object();
    });
}

nb::tuple state_of(const LevelBins& bins) {
    const Out<bool, 1> is_dense({ssize(bins.nodes)});
    std::vector<std::int64_t> ends{0};
    std::vector<std::uint32_t> numbers;
    std::vector<std::int32_t> counted;
    std::vector<std::int64_t> squares;
    ends.clear();
    std::int64_t n_rows = 0;
    for (Index k = 0; k < ssize(bins.nodes); ++k) {
        const NodeBins& node = bins.nodes[k];
        is_dense.data()[k] = node.is_dense();
        n_rows += node.n_rows(bins.shape);
        ends.push_back(n_rows);
        numbers.insert(numbers.end(), node.numbers().begin(), node.numbers().end());
        counted.insert(counted.end(), node.counted().begin(), node.counted().end());
        squares.insert(squares.end(), node.squares().begin(), node.squares().end());
    }
    return nb::make_tuple(bins.shape.n_bins, bins.shape.n_classes, bins.shape.squared, is_dense.object(),
                          to_array(ends), to_array(numbers), to_array(counted), to_array(squares));
}

LevelBins make_bins(const nb::tuple& state) {
    if (state.size() != 8) raise_value_error("The state of bins has eight parts.");
    LevelBins bins{
        {read_number<Index>(state[0], "n_bins of the state"), read_number<Index>(state[1], "n_classes of the state"),
         read_number<bool>(state[2], "squared of the state")},
        {}};
    const nb::object kept[5] = {state[3], state[4], state[5], state[6], state[7]};
    const auto is_dense = In<bool, 1>{kept[0]}.read("is_dense of the state");
    const auto ends = In<std::int64_t, 1>{kept[1]}.read("ends of the state");
    const auto numbers = In<std::uint32_t, 1>{kept[2]}.read("numbers of the state");
    const auto counted = In<std::int32_t, 1>{kept[3]}.read("counted of the state");
    const auto squares = In<std::int64_t, 1>{kept[4]}.read("squares of the state");
    const auto [n_bins, n_classes, squared] = bins.shape;
    if (n_bins < 0 || n_classes < 1) raise_value_error("n_bins and n_classes of the state must not be negative.");
    check_length(ends.size(), is_dense.size(), "ends of the state", "is_dense");
    const Index n_all = counted.size() / n_classes;
    Index row = 0, listed = 0;
    for (Index k = 0; k < ends.size(); ++k) {
        const Index end = ends.data()[k];
        const bool dense = is_dense.data()[k];
        const Index n_rows = end < row || end > n_all ? -1 : end - row;
        const Index n_listed = dense ? 0 : n_rows;
        if (n_rows < 0 || n_listed > numbers.size() - listed || (dense && n_rows != n_bins) ||
            (squared && end > squares.size()))
            raise_value_error("ends of the state must ascend to the number of bins.");
        const std::uint32_t* const own = numbers.data() + listed;
        for (Index b = 0; b < n_listed; ++b)
            if (static_cast<Index>(own[b]) >= n_bins || (b > 0 && own[b] <= own[b - 1]))
                raise_value_error("numbers of the state must ascend within a node.");
        const std::int32_t* const counts = counted.data();
        const std::int64_t* const sums = squares.data();
        bins.nodes.emplace_back(
            dense, std::vector<std::uint32_t>(own, own + n_listed),
            std::vector<std::int32_t>(counts + row * n_classes, counts + end * n_classes),
            squared ? std::vector<std::int64_t>(sums + row, sums + end) : std::vector<std::int64_t>());
        row = end;
        listed += n_listed;
    }
    return bins;
}

LevelBins merge_bins(nb::handle listed) {
    const nb::tuple held = hold(listed, "parts");
    std::vector<const LevelBins*> parts;
    for (const nb::handle part : held) {
        parts.push_back(nullptr);
        if (!nb::try_cast<const LevelBins*>(part, parts.back(), false) || parts.back() == nullptr)
            throw nb::type_error(("parts must hold LevelBins, not " + describe(part) + ".").c_str());
    }
    if (parts.empty()) raise_value_error("parts must not be empty.");
    for (const LevelBins* part : parts)
        if (part->shape != parts[0]->shape || part->nodes.size() != parts[0]->nodes.size())
            raise_value_error("parts must have counted the same nodes, features and classes.");
    LevelBins merged = *parts[0];
    run_released([&](Interrupt& interrupt) {
        for (std::size_t p = 1; p < parts.size(); ++p) {
            interrupt.check();
            merged.add(*parts[p]);
        }
    });
    return merged;
}

nb::tuple list_filled(const LevelBins& bins) {
    std::vector<std::int64_t> ends;
    std::vector<std::uint32_t> numbers;
    std::vector<std::int32_t> counted;
    std::vector<std::int64_t> squares;
    for (const NodeBins& node : bins.nodes) {
        for (Index row = 0; row < node.n_rows(bins.shape); ++row) {
            const auto counts = node.counted().begin() + row * bins.shape.n_classes;
            if (std::all_of(counts, counts + bins.shape.n_classes, [](std::int32_t count) { return count == 0; }))
                continue;
            numbers.push_back(node.is_dense() ? static_cast<std::uint32_t>(row) : node.numbers()[row]);
            counted.insert(counted.end(), counts, counts + bins.shape.n_classes);
            if (bins.shape.squared) squares.push_back(node.squares()[row]);
        }
        ends.push_back(ssize(numbers));
    }
    const Out<std::int32_t, 2> matrix({ssize(numbers), bins.shape.n_classes});
    std::copy(counted.begin(), counted.end(), matrix.data());
    return nb::make_tuple(to_array(ends), to_array(numbers), matrix.object(), to_array(squares));
}

void bind_bins(nb::module_& module) {
    nb::class_<LevelBins>(module, "LevelBins",
                          "Samples counted per feature, code and class in some nodes of a level.\n\n"
                          "Bins are numbered feature by feature and code by code, the code for missing values last.")
        .def_prop_ro(
            "n_nodes", [](const LevelBins& bins) { return bins.nodes.size(); }, "Number of nodes.")
        .def("list_filled", &list_filled,
             "Return the end of each node's bins that are not empty, their numbers, counts and sums of squares.")
        .def("__getstate__", [](const LevelBins& bins) { return state_of(bins); })
        .def("__setstate__", [](LevelBins& self, const nb::tuple& state) { new (&self) LevelBins(make_bins(state)); });
    module.def("count_bins", &count_bins, "samples"_a, "copies"_a, "ends"_a, "codes"_a, "features"_a, "n_codes"_a,
               "classes"_a, "n_classes"_a, "nodes"_a, "squared"_a,
               "Count the samples in some nodes of a level by feature, code and class; also sum their squared copies "
               "if `squared`.");
    module.def("merge_bins", &merge_bins, "parts"_a,
               nb::sig("def merge_bins(parts: collections.abc.Sequence[LevelBins]) -> LevelBins"),
               "Add the counts of several parts.");
}

LevelRound read_round(const GrowingTree& tree, Index first, Index end) {
    if (!tree.is_round({first, end}))
        raise_value_error("first and end must be a round of the level that has not been split yet.");
    return {first, end};
}

void bind_tree(nb::module_& module) {
    nb::class_<GrowingTree>(module, "GrowingTree",
                            "A tree that grows by one level at a time, each in several rounds if it has many bins.")
        .def(
            "__init__",
            [](GrowingTree* self, const Table& table, In<std::int64_t, 1> totals, const TreeSettings& settings,
               Key seed, Index most_kept) {
                const auto read = totals.read("totals");
                if (read.size() < 1) raise_value_error("totals must have at least one class.");
                constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
                std::int64_t n_copies = 0;
                for (const std::int64_t total : read.span()) {
                    if (total < 0) raise_value_error("totals must not be negative.");
                    n_copies = std::min(n_copies + std::min(total, most + 1), most + 1);
                }
                if (n_copies > most)
                    raise_value_error(
                        "totals must not sum to more than 2,147,483,647, the samples that a tree can have.");
                if (table.n_columns() == 0) raise_value_error("table must have at least one feature.");
                new (self) GrowingTree(table.coding(), read.span(), settings, seed, most_kept);
            },
            "table"_a, "totals"_a, "settings"_a, "seed"_a, "most_kept"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("has_grown", &GrowingTree::has_grown, "Whether no node is left that may be split.")
        .def_prop_ro(
            "squared", [](const GrowingTree& tree) { return tree.shape().squared; },
            "Whether the search for splits takes sums of squares.")
        .def(
            "rounds",
            [](const GrowingTree& tree, Index n_bins) {
                nb::list rounds;
                for (const LevelRound& round : tree.rounds(n_bins))
                    rounds.append(nb::make_tuple(round.first, round.end));
                return rounds;
            },
            "n_bins"_a)
        .def(
            "counted_nodes",
            [](const GrowingTree& tree, Index first, Index end) {
                return to_array(tree.counted_nodes(read_round(tree, first, end)));
            },
            "first"_a, "end"_a)
        .def(
            "split",
            [](GrowingTree& tree, Index first, Index end, const LevelBins& bins) {
                const LevelRound round = read_round(tree, first, end);
                if (!tree.are_counts_of(round, bins))
                    raise_value_error("bins must have the counts of the nodes of the round.");
                run_released([&](Interrupt& interrupt) { tree.split(round, bins, interrupt); });
            },
            "first"_a, "end"_a, "bins"_a)
        .def("end_level", &GrowingTree::end_level,
             "Go on to the next level; return what has become of this one, for samples that descend.")
        .def("finish", [](GrowingTree& tree) {
            Tree finished;
            run_released([&](Interrupt&) { finished = tree.finish(); });
            return finished;
        });
}

}  // namespace

void bind_levels(nb::module_& module) {
    bind_bins(module);
    nb::class_<LevelSplits>(module, "LevelSplits", "What has become of the nodes of a level, for samples that descend.")
        .def_ro("n_children", &LevelSplits::n_children, "Number of nodes of the next level.")
        .def("__getstate__", [](const LevelSplits& splits) { return state_of(splits); })
        .def("__setstate__",
             [](LevelSplits& self, const nb::tuple& state) { new (&self) LevelSplits(make_splits(state)); });
    bind_tree(module);
    module.def("descend", &descend, "samples"_a, "copies"_a, "ends"_a, "codes"_a, "features"_a, "n_codes"_a, "splits"_a,
               "Let the samples of a level go on to the next one; samples that are not needed there are left out.");
    module.def("reach_leaves", &reach_leaves, "tree"_a, "codes"_a, "n_codes"_a,
               "Return the leaf that each sample of a part reaches.");
}

}  // namespace fuselearn::bindings
