#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_tables(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
