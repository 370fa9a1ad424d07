#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_stumps(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
