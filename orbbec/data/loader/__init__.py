"""Batches for the model: threads read, decode and augment samples ahead of the training loop.

Begin with loader.py. assemble.py makes one batch, queues.py runs the threads, tune.py chooses their number,
report.py shows where the time goes.
"""
