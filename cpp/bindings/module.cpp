// The extension module: one function per group of bindings.

#include "bindings/arrays.hpp"

NB_MODULE(_core, module) {
    module.doc() = "Loops over arrays, compiled. Nothing outside fuselearn's own facades should import this module.";
    using namespace fuselearn::bindings;
    bind_arrays();
    bind_sampling(module);
    bind_filters(module);
    bind_combining(module);
    bind_labels(module);
    bind_tables(module);
    bind_trees(module);
    bind_growing(module);
    bind_forests(module);
    bind_levels(module);
    bind_gradients(module);
    bind_stumps(module);
    bind_svm(module);
}
