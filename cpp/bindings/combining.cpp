#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_combining(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
