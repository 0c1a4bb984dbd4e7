"""Effects of optics, sensors and codecs that are made of existing operators, each in a pass of its own.

blurs.py has those of lenses and glass, kernels.py those of drawn kernels, artifacts.py those of edges,
sensors.py noise; weather.py has snow, fog and rain, spatter.py drops on the lens, flares.py the sun,
plasma.py uneven light.
"""
