"""Batches for the model: samples read, decoded and augmented by threads, ahead of the training loop.

Begin with loader.py. assemble.py makes one batch, queues.py runs the threads, tune.py chooses how many,
report.py says where the time goes.
"""
