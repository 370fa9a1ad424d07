#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_labels(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
