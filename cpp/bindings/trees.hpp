// Bindings for trees.

#pragma once

#include "bindings/arrays.hpp"
#include "tables/coding.hpp"
#include "trees/tree.hpp"

namespace fuselearn::bindings {

// A read-only view of values that another Python object owns.
template <class T>
ArrayOf<T> view_of(const T* data, std::initializer_list<std::size_t> shape, nb::handle owner) {
    return nb::borrow<ArrayOf<T>>(
        nb::cast(nb::ndarray<nb::numpy, const T>(data, shape, owner), nb::rv_policy::reference));
}

// Nodes from the bytes of an array of NODE.
std::vector<Node> read_node_bytes(std::span<const std::uint8_t> bytes);

// Raise an error unless the tree is valid for columns of this coding.
void check_fits(const Tree& tree, const Coding& coding);

}  // namespace fuselearn::bindings
