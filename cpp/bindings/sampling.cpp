#include "bindings/arrays.hpp"
#include "sampling/random.hpp"

namespace fuselearn::bindings {

namespace {

nb::object draw_uniforms(Key seed, Index first, Index n_numbers) {
    if (n_numbers < 0) raise_value_error("n_numbers must not be negative.");
    const Out<double, 1> drawn({n_numbers});
    run_released([&](Interrupt&) {
        for (Index i = 0; i < n_numbers; ++i)
            drawn.data()[i] = uniform(mix(seed, static_cast<std::uint64_t>(first + i)));
    });
    return drawn.object();
}

}  // namespace

void bind_sampling(nb::module_& module) {
    module.def("draw_uniforms", &draw_uniforms, "seed"_a, "first"_a, "n_numbers"_a,
               nb::sig("def draw_uniforms(seed: int, first: int, n_numbers: int) -> NDArray[numpy.float64]"));
}

}  // namespace fuselearn::bindings
