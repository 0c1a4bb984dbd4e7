"""The layer between Python and the kernels: code shared by the wrappers and bindings of all operators."""
