"""What every transform is made of: arguments, draws, inputs, and the call of a module.

Begin with transform.py and pipeline.py, which draws for a batch and applies what was drawn. inputs.py,
structures.py and tv_tensors.py read what users pass; registry.py finds transforms by name.
"""
