#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_forests(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
