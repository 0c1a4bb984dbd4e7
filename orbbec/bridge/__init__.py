"""The layer between torch and the kernels, in Python and C++, shared by the operators of all families.

Begin with arguments.py and images.h: tensors, arrays and batches become operator inputs and image views.
device.h runs an operator on CPU threads or a CUDA stream, buffer_pool.py allocates outputs, spec.py has
`OpSpec`, by which pipelines know operators. warp.*, pointwise.*, noise.* and `gradients` serve several
families.
"""
