#include "bindings/arrays.hpp"

namespace fuselearn::bindings {

void bind_svm(nb::module_& /*module*/) {}

}  // namespace fuselearn::bindings
