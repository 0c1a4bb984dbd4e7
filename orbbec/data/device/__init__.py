"""Batches on their way to a device, and training steps that a CUDA graph replays.

Begin with staging.py, which copies a batch and augments it there. prefetch.py does that for a DataLoader;
sink.py runs many steps in one call, from memory of fixed addresses (slots.py).
"""
