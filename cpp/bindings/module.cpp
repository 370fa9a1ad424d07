// The extension module: one function per group of bindings.

#include <stdexcept>
#include <typeinfo>

#include "bindings/arrays.hpp"

namespace {

// What nb::cast throws would be a RuntimeError, and what a vector does if it would be too long, a ValueError.
void translate(const std::exception_ptr& failure, void* /*unused*/) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::bad_cast&) {
        PyErr_SetString(PyExc_TypeError, "self is not of this class, or has not been made.");
    } catch (const std::length_error&) {
        PyErr_NoMemory();
    }
}

}  // namespace

NB_MODULE(_core, module) {
    using namespace fuselearn::bindings;
    nb::set_leak_warnings(false);  // objects may outlive the interpreter, as those of test modules do
    module.doc() = "Loops over arrays, compiled. Nothing outside fuselearn's own facades should import this module.";

    nb::register_exception_translator(&translate);
    bind_arrays();
    bind_sampling(module);
    bind_filters(module);
    bind_combining(module);
    bind_labels(module);
    bind_tables(module);
    bind_sparse_tables(module);
    bind_trees(module);
    bind_growing(module);
    bind_ensembles(module);
    bind_forests(module);
    bind_levels(module);
    bind_gradients(module);
    bind_stumps(module);
    bind_svm(module);
}
