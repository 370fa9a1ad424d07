#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_levels(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
