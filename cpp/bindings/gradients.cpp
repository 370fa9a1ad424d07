#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_gradients(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
