"""Functions of other libraries, run by orbbec without changes to the code that calls them.

`torchvision` is the only one so far. Begin with torchvision/switch.py, which replaces functions and restores
them; functions.py lists what is replaced and for which dtypes, calls.py routes each call and counts it,
pipelines.py fuses a `Compose`, ops.py replaces the detection operators.
"""
