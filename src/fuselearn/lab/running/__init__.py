"""Run comparisons: suites, methods, the protocol of a fit, the runner, and the store of results."""
