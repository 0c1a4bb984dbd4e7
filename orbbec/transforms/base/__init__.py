"""The base of all transforms: arguments, random parameters, inputs, and the call of a module.

Begin with transform.py, and with pipeline.py, which plans a batch and applies the plan. inputs.py,
structures.py and tv_tensors.py read the input of users; registry.py finds transforms by name.
"""
