#include "bindings/trees.hpp"

#include <nanobind/stl/vector.h>

#include <cstring>
#include <limits>
#include <optional>

#include "bindings/tables.hpp"
#include "trees/soundness.hpp"
#include "trees/table_descent.hpp"

namespace fuselearn::bindings {

namespace {

nb::handle node_dtype;

void make_node_dtype(nb::module_& module) {
    nb::list fields;
    const auto add = [&fields](const char* name, const char* type) { fields.append(nb::make_tuple(name, type)); };
    for (const char* name : {"threshold", "gain", "weight"}) add(name, "f8");
    for (const char* name : {"count", "feature", "left", "cut"}) add(name, "i4");
    for (const char* name : {"is_category", "missing_left", "heavier_left"}) add(name, "?");
    nb::object dtype = nb::module_::import_("numpy").attr("dtype")(fields, "align"_a = true);
    if (nb::cast<std::size_t>(dtype.attr("itemsize")) != sizeof(Node))
        throw nb::import_error("The layout of nodes is not what NumPy takes it for.");
    module.attr("NODE") = dtype;
    node_dtype = dtype.release();
}

// Copy the records of an array of nodes.
std::vector<Node> read_nodes(nb::handle nodes) {
    if (!nb::hasattr(nodes, "dtype") || !nodes.attr("dtype").equal(node_dtype) ||
        nb::cast<int>(nodes.attr("ndim")) != 1)
        throw nb::type_error(("nodes must be an array of NODE with 1 dimension, not " + describe(nodes) + ".").c_str());
    const nb::object contiguous = nb::module_::import_("numpy").attr("ascontiguousarray")(nodes);
    const nb::object viewed = contiguous.attr("view")("u1");
    const auto bytes = In<std::uint8_t, 1>{viewed}.read("nodes");
    return read_node_bytes(bytes.span());
}

Tree make_tree(nb::handle nodes, In<double, 2> values, In<std::uint32_t, 1> subsets) {
    const auto read_values = values.read("values");
    const auto read_subsets = subsets.read("subsets");
    Tree tree;
    tree.nodes = read_nodes(nodes);
    check_length(read_values.shape(0), tree.n_nodes(), "values", "nodes");
    tree.values.assign(read_values.span().begin(), read_values.span().end());
    tree.subsets.assign(read_subsets.span().begin(), read_subsets.span().end());
    tree.n_values = read_values.shape(1);
    if (const char* fault = find_fault(tree)) raise_value_error(std::string("A node of a tree ") + fault + ".");
    return tree;
}

// Trees that come one after the other in a few arrays, checked against features with so many categories each.
std::vector<Tree> unstack_trees(nb::handle nodes, In<double, 2> values, In<std::uint32_t, 1> subsets,
                                In<std::int64_t, 1> n_nodes, In<std::int64_t, 1> n_words,
                                In<std::int32_t, 1> n_categories) {
    const std::vector<Node> all_nodes = read_nodes(nodes);
    const auto all_values = values.read("values");
    const auto all_words = subsets.read("subsets");
    const auto node_counts = n_nodes.read("n_nodes");
    const auto word_counts = n_words.read("n_words");
    const auto categories = n_categories.read("n_categories");
    check_length(all_values.shape(0), ssize(all_nodes), "values", "nodes");
    check_length(word_counts.size(), node_counts.size(), "n_words", "n_nodes");
    const auto category_count = [&](Index f) -> Index {
        return std::max(0, categories.span()[static_cast<std::size_t>(f)]);
    };
    const Index n_values = all_values.shape(1);
    std::vector<Tree> trees;
    Index node = 0;
    Index word = 0;
    for (std::size_t t = 0; t < node_counts.span().size(); ++t) {
        const auto own_nodes = static_cast<Index>(node_counts.span()[t]);
        const auto own_words = static_cast<Index>(word_counts.span()[t]);
        if (own_nodes < 1 || own_nodes > ssize(all_nodes) - node || own_words < 0 ||
            own_words > all_words.size() - word)
            raise_value_error("n_nodes and n_words must sum to the numbers of nodes and words.");
        Tree tree;
        tree.nodes.assign(all_nodes.begin() + node, all_nodes.begin() + node + own_nodes);
        tree.values.assign(all_values.data() + node * n_values, all_values.data() + (node + own_nodes) * n_values);
        tree.subsets.assign(all_words.data() + word, all_words.data() + word + own_words);
        tree.n_values = n_values;
        const char* fault = find_misfit(tree, categories.size(), category_count);
        if (fault == nullptr) fault = find_fault(tree);
        if (fault != nullptr) raise_value_error(std::string("A node of a tree ") + fault + ".");
        trees.push_back(std::move(tree));
        node += own_nodes;
        word += own_words;
    }
    return trees;
}

const Tree& tree_of(nb::handle self) { return nb::cast<const Tree&>(self); }

RecordsArray nodes_of(nb::handle self) {
    const Tree& tree = tree_of(self);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(tree.nodes.data());
    return nb::borrow<RecordsArray>(view_of(bytes, {tree.nodes.size() * sizeof(Node)}, self).attr("view")(node_dtype));
}

auto values_of(nb::handle self) {
    const Tree& tree = tree_of(self);
    return view_of(tree.values.data(), {tree.nodes.size(), static_cast<std::size_t>(tree.n_values)}, self);
}

auto subsets_of(nb::handle self) {
    const Tree& tree = tree_of(self);
    return view_of(tree.subsets.data(), {tree.subsets.size()}, self);
}

Index depth_of(const Tree& tree) {
    std::vector<Index> depth(tree.nodes.size(), 0);
    for (Index k = 0; k < tree.n_nodes(); ++k)
        if (const Node& node = tree.nodes[k]; !node.is_leaf()) depth[node.left] = depth[node.left + 1] = depth[k] + 1;
    return *std::max_element(depth.begin(), depth.end());
}

auto shares_of(const Tree& tree) {
    const Out<double, 2> shares({tree.n_nodes(), tree.n_values});
    for (Index k = 0; k < tree.n_nodes(); ++k) {
        const double weight = tree.nodes[k].weight > 0 ? tree.nodes[k].weight : 1.0;
        for (Index j = 0; j < tree.n_values; ++j) shares.matrix()(k, j) = tree.value_matrix()(k, j) / weight;
    }
    return shares.object();
}

// The same nodes with other values, as many for each node.
Tree with_values(const Tree& tree, In<double, 2> values) {
    const auto read = values.read("values");
    check_length(read.shape(0), tree.n_nodes(), "values", "nodes");
    return {tree.nodes, {read.span().begin(), read.span().end()}, tree.subsets, read.shape(1)};
}

// The same nodes with these values in the leaves, and their sums in all nodes above.
Tree with_leaf_values(const Tree& tree, In<double, 2> values) {
    Tree summed = with_values(tree, values);
    const Matrix<double> sums(summed.values.data(), summed.n_nodes(), summed.n_values);
    for (Index k = summed.n_nodes() - 1; k >= 0; --k) {
        const Node& node = summed.nodes[static_cast<std::size_t>(k)];
        if (node.is_leaf()) continue;
        for (Index j = 0; j < summed.n_values; ++j) sums(k, j) = sums(node.left, j) + sums(node.left + 1, j);
    }
    return summed;
}

// A tree that grew on some features of a table, as a tree of the table: `features` are their indices there.
Tree with_features(const Tree& tree, In<std::int64_t, 1> features) {
    const auto read = features.read("features");
    check_range(read.span(), Index{std::numeric_limits<std::int32_t>::max()}, "features");
    Tree renamed = tree;
    for (Node& node : renamed.nodes) {
        if (node.is_leaf()) continue;
        if (node.feature >= read.size())
            raise_value_error("features must be as many as the tree has, but a node splits feature " +
                              std::to_string(node.feature) + ".");
        node.feature = static_cast<std::int32_t>(read.span()[static_cast<std::size_t>(node.feature)]);
    }
    return renamed;
}

ArrayOf<std::int32_t> apply(const Tree& tree, AnyTable table, In<std::int64_t, 1> samples) {
    return table.visit("table", [&](const auto& read) {
        check_fits(tree, coding_of(read));
        Chosen chosen{{}, read.n_samples(), samples.is_none()};
        std::optional<Values<std::int64_t, 1>> indices;
        if (!chosen.is_all) {
            indices.emplace(samples.read("samples"));
            check_range(indices->span(), read.n_samples(), "samples");
            chosen.indices = indices->span();
        }
        const Out<std::int32_t, 1> leaves({chosen.size()});
        run_released([&](Interrupt& interrupt) {
            visit_leaves(tree, read, chosen, interrupt,
                         [&](Index k, Index leaf) { leaves.data()[k] = static_cast<std::int32_t>(leaf); });
        });
        return leaves.object();
    });
}

ArrayOf<std::int32_t> vote(const Tree& tree, AnyTable table) {
    return table.visit("table", [&](const auto& read) {
        check_fits(tree, coding_of(read));
        const Out<std::int32_t, 1> votes({read.n_samples()});
        run_released([&](Interrupt& interrupt) {
            const std::vector<std::int32_t> classes = choose_classes(tree);
            visit_leaves(tree, read, {{}, read.n_samples(), true}, interrupt,
                         [&](Index k, Index leaf) { votes.data()[k] = classes[static_cast<std::size_t>(leaf)]; });
        });
        return votes.object();
    });
}

}  // namespace

std::vector<Node> read_node_bytes(std::span<const std::uint8_t> bytes) {
    std::vector<Node> read(bytes.size() / sizeof(Node));
    // Records may come from a file: a byte other than 0 and 1 would not be a bool.
    for (std::size_t k = 0; k < read.size(); ++k) {
        unsigned char record[sizeof(Node)];
        std::memcpy(record, bytes.data() + k * sizeof(Node), sizeof(Node));
        for (std::size_t flag = offsetof(Node, is_category); flag <= offsetof(Node, heavier_left); ++flag)
            record[flag] = record[flag] != 0 ? 1 : 0;
        std::memcpy(static_cast<void*>(&read[k]), record, sizeof(Node));
    }
    return read;
}

void check_fits(const Tree& tree, const Coding& coding) {
    if (const char* misfit = find_misfit(tree, coding))
        raise_value_error(std::string("A node of a tree ") + misfit + ".");
}

void bind_trees(nb::module_& module) {
    make_node_dtype(module);
    nb::class_<Tree>(
        module, "Tree",
        "A tree: its nodes (the root first), the weights of the classes in each, and category subsets.\n\n"
        "``values[i, j]`` is the training weight of class (or label) ``j`` in node ``i``. A category split "
        "holds in\n``subsets`` one bit per category, from the word ``cut`` on; a set bit sends the category "
        "left.")
        .def(
            "__init__",
            [](Tree* self, nb::handle nodes, In<double, 2> values, In<std::uint32_t, 1> subsets) {
                new (self) Tree(make_tree(nodes, values, subsets));
            },
            "nodes"_a, "values"_a, "subsets"_a)
        .def_prop_ro("nodes", &nodes_of, "Records of the nodes, read-only.")
        .def_prop_ro("values", &values_of, "Weights of shape (n_nodes, n_classes), read-only.")
        .def_prop_ro("subsets", &subsets_of, "Words of the category subsets, read-only.")
        .def_prop_ro("n_nodes", &Tree::n_nodes, "Number of nodes.")
        .def_prop_ro(
            "n_leaves", [](const Tree& tree) { return (tree.n_nodes() + 1) / 2; }, "Number of leaves.")
        .def_prop_ro("depth", &depth_of, "Number of splits on the longest path.")
        .def("shares", &shares_of, "Return the fraction of each class (or label) in the training weight of each node.")
        .def("with_values", &with_values, "values"_a, "Return the tree with other values of its nodes.")
        .def("with_leaf_values", &with_leaf_values, "values"_a,
             "Return the tree with these values in its leaves, and their sums in all nodes above.")
        .def("with_features", &with_features, "features"_a,
             "Return the tree with other indices of features: feature ``f`` becomes ``features[f]``.")
        .def("apply", &apply, "table"_a, "samples"_a.none() = nb::none(),
             "Return the leaf of each sample, or of some samples, of a coded table.")
        .def("vote", &vote, "table"_a,
             "Return the class of the largest weight, the first of equal ones, in the leaf of each sample of a table.")
        .def("__getstate__",
             [](nb::handle self) { return nb::make_tuple(nodes_of(self), values_of(self), subsets_of(self)); })
        .def("__setstate__", [](Tree& self, const nb::tuple& state) {
            if (state.size() != 3) raise_value_error("The state of a tree has three arrays.");
            new (&self) Tree(make_tree(state[0], {state[1]}, {state[2]}));
        });
    module.def("unstack_trees", &unstack_trees, "nodes"_a, "values"_a, "subsets"_a, "n_nodes"_a, "n_words"_a,
               "n_categories"_a);
}

}  // namespace fuselearn::bindings
