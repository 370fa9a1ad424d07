#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_filters(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
