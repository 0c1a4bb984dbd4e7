"""The seam between Python and the kernels: what the wrappers and the bindings of all operators share."""
