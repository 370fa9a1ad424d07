#include <nanobind/stl/tuple.h>

#include <optional>

#include "bindings/tables.hpp"
#include "bindings/targets.hpp"
#include "bindings/trees.hpp"
#include "trees/grow_tree.hpp"
#include "trees/settings.hpp"
#include "trees/table_descent.hpp"
#include "trees/targets.hpp"

namespace fuselearn::bindings {

namespace {

BoundClasses make_classes(In<std::int32_t, 1> classes, Index n_classes) {
    const auto read = classes.read("classes");
    if (n_classes < 1) raise_value_error("n_classes must be at least 1.");
    check_range(read.span(), n_classes, "classes");
    return {{read.span().begin(), read.span().end()}, n_classes};
}

BoundLabels make_labels(In<std::int64_t, 1> starts, In<std::int32_t, 1> labels, Index n_labels) {
    const auto read_starts = starts.read("starts");
    const auto read_labels = labels.read("labels");
    if (n_labels < 1) raise_value_error("n_labels must be at least 1.");
    check_range(read_labels.span(), n_labels, "labels");
    const auto bounds = read_starts.span();
    if (bounds.empty() || bounds.front() != 0 || bounds.back() != read_labels.size() ||
        !std::is_sorted(bounds.begin(), bounds.end()))
        raise_value_error("starts must rise from 0 to the number of labels.");
    return {{bounds.begin(), bounds.end()}, {read_labels.span().begin(), read_labels.span().end()}, n_labels};
}

// The samples of one tree, checked.
struct ReadDraw {
    Values<std::int32_t, 1> counts;
    std::optional<Values<std::int32_t, 1>> whole;
    std::optional<Values<double, 1>> weights;

    Draw view() const { return {counts.span(), whole ? whole->span() : counts.span()}; }
};

void check_sum(std::span<const std::int32_t> numbers, const char* name) {
    std::int64_t sum = 0;
    std::int32_t smallest = 0;
    for (const std::int32_t number : numbers) {
        smallest = std::min(smallest, number);
        sum += number;
    }
    if (smallest < 0) raise_value_error(std::string(name) + " must not be negative.");
    if (sum == 0) raise_value_error(std::string(name) + " must have at least one sample.");
    if (sum > std::numeric_limits<std::int32_t>::max())
        raise_value_error(std::string(name) + " must not sum to more than 2,147,483,647.");
}

struct DrawArguments {
    In<std::int32_t, 1> counts;
    In<std::int32_t, 1> whole;
    In<double, 1> weights;
};

ReadDraw read_draw(const DrawArguments& arguments, Index n_samples) {
    ReadDraw draw{arguments.counts.read("counts"), {}, {}};
    check_length(draw.counts.size(), n_samples, "counts", "the table");
    check_sum(draw.counts.span(), "counts");
    if (arguments.weights.is_none() != arguments.whole.is_none())
        raise_value_error("whole and weights are given together or not at all.");
    if (!arguments.weights.is_none()) {
        draw.whole.emplace(arguments.whole.read("whole"));
        draw.weights.emplace(arguments.weights.read("weights"));
        check_length(draw.whole->size(), n_samples, "whole", "the table");
        check_length(draw.weights->size(), n_samples, "weights", "the table");
        check_sum(draw.whole->span(), "whole");
    }
    return draw;
}

template <class TableKind, class Target>
void check_table(const TableKind& table, const Target& target) {
    check_length(target.n_samples(), table.n_samples(), "target", "the table");
    if (table.n_columns() == 0) raise_value_error("table must have at least one feature.");
}

template <class Target>
void weigh_on(Tree& tree, const Table& table, const Target& target, const ReadDraw& draw) {
    table.visit([&](const auto& codes) {
        weigh(tree, target, draw.view(), draw.weights->span(), [&](Index i) {
            return find_leaf(tree, table.coding(), [&](Index f) { return static_cast<Index>(codes(i, f)); });
        });
    });
}

template <class Target>
void weigh_on(Tree& tree, const SparseTable& table, const Target& target, const ReadDraw& draw) {
    weigh(tree, target, draw.view(), draw.weights->span(),
          [&](Index i) { return find_leaf(tree, table.coding, [&](Index f) { return table.code(i, f); }); });
}

// What the functions that grow trees take besides a table and a target.
struct Order {
    DrawArguments draw;
    const TreeSettings& settings;
    Key seed;
    int n_threads;
    const StoragePlan* plan;
};

// Check the arguments, grow a tree without the interpreter's lock, and give its nodes the weights as they are.
template <class TableKind, class Bound>
Tree grow_checked(const TableKind& table, const Bound& target, const Order& order) {
    const auto view = target.view();
    check_table(table, view);
    const ReadDraw draw = read_draw(order.draw, view.n_samples());
    const StoragePlan plan = order.plan != nullptr ? *order.plan : StoragePlan{};
    Tree tree;
    run_released([&](Interrupt& interrupt) {
        tree = grow_tree(table, view, draw.view(), {order.settings, plan, order.seed, order.n_threads, interrupt});
        if (draw.weights) weigh_on(tree, table, view, draw);
    });
    return tree;
}

template <class TableKind, class Bound>
Tree grow_bound(const TableKind& table, const Bound& target, In<std::int32_t, 1> counts, const TreeSettings& settings,
                Key seed, int n_threads, In<std::int32_t, 1> whole, In<double, 1> weights, const StoragePlan* plan) {
    return grow_checked(table, target, {{counts, whole, weights}, settings, seed, n_threads, plan});
}

template <class TableKind, class Bound>
void bind_grower(nb::module_& module, const char* name, const char* doc) {
    module.def(name, &grow_bound<TableKind, Bound>, "table"_a, "target"_a, "counts"_a, "settings"_a, "seed"_a = 0,
               "n_threads"_a = 1, "whole"_a.none() = nb::none(), "weights"_a.none() = nb::none(),
               "plan"_a.none() = nb::none(), doc);
}

void bind_plan(nb::module_& module) {
    const StoragePlan defaults;
    nb::class_<StoragePlan>(module, "StoragePlan", "In which way samples are stored; trees do not depend on it.")
        .def(
            "__init__",
            [](StoragePlan* self, std::int64_t most_presorted, std::int64_t least_histogram, double samples_per_code,
               std::int64_t n_branches, std::int64_t least_branch, std::int64_t times_as_many,
               std::int64_t most_sorted) {
                if (n_branches < 1) raise_value_error("n_branches must be at least 1.");
                new (self) StoragePlan{most_presorted, least_histogram, samples_per_code, n_branches,
                                       least_branch,   times_as_many,   most_sorted};
            },
            nb::kw_only(), "most_presorted"_a = defaults.most_presorted, "least_histogram"_a = defaults.least_histogram,
            "samples_per_code"_a = defaults.samples_per_code, "n_branches"_a = defaults.n_branches,
            "least_branch"_a = defaults.least_branch, "times_as_many"_a = defaults.times_as_many,
            "most_sorted"_a = defaults.most_sorted);
}

// Larger numbers mean no limit, too.
std::int32_t narrow(std::int64_t number) {
    using Limits32 = std::numeric_limits<std::int32_t>;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(number, Limits32::min(), Limits32::max()));
}

nb::tuple state_of(const TreeSettings& settings) {
    return nb::make_tuple(settings.min_split, settings.min_leaf, settings.max_depth, settings.complexity,
                          settings.max_features, settings.random_cuts, settings.correct_for_chance);
}

nb::dict fields_of(nb::handle settings) {
    nb::cast<const TreeSettings&>(settings);  // or it may be anything
    nb::dict fields;
    for (const char* name :
         {"min_split", "min_leaf", "max_depth", "complexity", "max_features", "random_cuts", "correct_for_chance"})
        fields[name] = settings.attr(name);
    return fields;
}

void bind_settings(nb::module_& module) {
    nb::class_<TreeSettings>(
        module, "TreeSettings",
        "How a tree is grown, in rpart's terms: ``minsplit``, ``minbucket``, ``maxdepth`` and "
        "``cp``.\n\n``max_features`` features are looked at in each node, drawn at random if that "
        "is not all of them.\n``random_cuts`` tries one random cut per feature instead of all, as "
        "in extremely randomized trees.\n``correct_for_chance`` subtracts from the gain of a split "
        "by categories what chance would give; rpart does not.")
        .def(
            "__init__",
            [](TreeSettings* self, std::int64_t min_split, std::int64_t min_leaf, std::int64_t max_depth,
               double complexity, std::int64_t max_features, bool random_cuts, bool correct_for_chance) {
                if (max_features < 1) raise_value_error("max_features must be at least 1.");
                new (self) TreeSettings{narrow(min_split),    narrow(min_leaf), narrow(max_depth), complexity,
                                        narrow(max_features), random_cuts,      correct_for_chance};
            },
            nb::kw_only(), "min_split"_a = 20, "min_leaf"_a = 7, "max_depth"_a = 30, "complexity"_a = 0.01,
            "max_features"_a = std::numeric_limits<std::int32_t>::max(), "random_cuts"_a = false,
            "correct_for_chance"_a = false)
        .def_ro("min_split", &TreeSettings::min_split)
        .def_ro("min_leaf", &TreeSettings::min_leaf)
        .def_ro("max_depth", &TreeSettings::max_depth)
        .def_ro("complexity", &TreeSettings::complexity)
        .def_ro("max_features", &TreeSettings::max_features)
        .def_ro("random_cuts", &TreeSettings::random_cuts)
        .def_ro("correct_for_chance", &TreeSettings::correct_for_chance)
        .def(
            "__eq__", [](const TreeSettings& self, const TreeSettings& other) { return self == other; },
            nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const TreeSettings& self) { return nb::hash(state_of(self)); })
        .def("__repr__", [](nb::handle self) { return nb::str("TreeSettings(**{})").format(fields_of(self)); })
        .def(
            "replace",
            [](nb::handle self, const nb::kwargs& changes) {
                nb::dict fields = fields_of(self);
                fields.update(changes);
                return self.type()(**fields);
            },
            nb::sig("def replace(self, **changes: typing.Any) -> TreeSettings"),
            "Return settings with other values for some of them.")
        .def("__getstate__", &state_of)
        .def("__setstate__",
             [](TreeSettings& self,
                const std::tuple<std::int32_t, std::int32_t, std::int32_t, double, std::int32_t, bool, bool>& state) {
                 new (&self) TreeSettings(std::make_from_tuple<TreeSettings>(state));
             });
}

}  // namespace

void bind_growing(nb::module_& module) {
    bind_settings(module);
    nb::class_<BoundClasses>(module, "ClassTarget", "One class number per sample, from 0 to ``n_classes - 1``.")
        .def(
            "__init__",
            [](BoundClasses* self, In<std::int32_t, 1> classes, Index n_classes) {
                new (self) BoundClasses(make_classes(classes, n_classes));
            },
            "classes"_a, "n_classes"_a)
        .def_ro("n_classes", &BoundClasses::n_classes)
        .def("__len__", [](const BoundClasses& self) { return self.classes.size(); });
    nb::class_<BoundLabels>(
        module, "LabelTarget",
        "A list of labels per sample: those of sample ``i`` are ``labels[starts[i]:starts[i + 1]]``.")
        .def(
            "__init__",
            [](BoundLabels* self, In<std::int64_t, 1> starts, In<std::int32_t, 1> labels, Index n_labels) {
                new (self) BoundLabels(make_labels(starts, labels, n_labels));
            },
            "starts"_a, "labels"_a, "n_labels"_a)
        .def_ro("n_labels", &BoundLabels::n_labels)
        .def("__len__", [](const BoundLabels& self) { return self.starts.size() - 1; });
    bind_plan(module);
    bind_grower<Table, BoundClasses>(module, "grow_class_tree", "Grow a tree for one class per sample.");
    bind_grower<Table, BoundLabels>(module, "grow_label_tree", "Grow a tree for a list of labels per sample.");
    bind_grower<SparseTable, BoundLabels>(module, "grow_sparse_label_tree",
                                          "Grow the same tree from the entries of a sparse table.");
}

}  // namespace fuselearn::bindings
