// The common loop that grows a tree, for all storages of samples.
//
// A storage contains the samples of the pending nodes, each a range of positions. It provides
//   takes(waiting)                  whether the node is grown here; otherwise the storage has handled it
//   find_split(search, place)       search the features of the node
//   divide(split, place, sums)      mark the samples that go left, and sum their classes
//   deal(place, half, grows)        reorder the samples so that the left ones come first, for the sides that grow
// and defines whether the larger child is grown first. The tree does not depend on the order: every node has its own
// key, and the nodes of the finished tree are sorted (pruning.hpp).

#pragma once

#include <array>
#include <vector>

#include "sampling/random.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "trees/growth.hpp"
#include "trees/search.hpp"

namespace fuselearn {

// Where the samples of a node are, and how many nodes wait below it on the stack.
struct Place {
    Index start = 0;
    Index end = 0;
    Index slot = 0;

    Index size() const { return end - start; }
};

struct Waiting {
    Index node;
    Index depth;
    Key key;
    Place place;
};

// Whether the left and the right child of a split will be grown.
using Grows = std::array<bool, 2>;

// Grow the subtree of a leaf that holds the first `n_samples` of the storage.
template <class Storage>
void grow_subtree(Growth& growth, Storage& storage, Search& search, const Root& root, Index n_samples,
                  Interrupt& interrupt) {
    const Limits& limits = search.limits();
    if (growth.is_terminal(root.node, root.depth, limits)) return;
    std::vector<Waiting> stack{{root.node, root.depth, root.key, {0, n_samples, 0}}};
    while (!stack.empty()) {
        const Waiting here = stack.back();
        stack.pop_back();
        if (!storage.takes(here, root)) continue;
        interrupt.check();
        search.begin(growth.describe_node(here.node), here.key);
        storage.find_split(search, here.place);
        if (!search.has_split()) continue;

        const Index child = growth.add_children();
        const Half left = storage.divide(search.split(), here.place, growth.values(child));
        growth.write_split(here.node, child, search.split(), search.gain(), left);
        const Grows grows{!growth.is_terminal(child, here.depth + 1, limits),
                          !growth.is_terminal(child + 1, here.depth + 1, limits)};
        storage.deal(here.place, left, grows);
        const Index middle = here.place.start + left.n_samples;
        const int larger = 2 * left.n_samples < here.place.size() ? 1 : 0;
        const int last = Storage::larger_first ? larger : 1 - larger;  // the node that waits last is the next one
        for (const int side : {1 - last, last}) {
            if (!grows[side]) continue;
            const Place place{side ? middle : here.place.start, side ? here.place.end : middle, ssize(stack)};
            stack.push_back({child + side, here.depth + 1, mix(here.key, static_cast<std::uint64_t>(side)), place});
        }
    }
}

}  // namespace fuselearn
