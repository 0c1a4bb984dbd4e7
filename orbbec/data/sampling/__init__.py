"""Which samples an epoch has, and in which order: repeated, weighted, mixed, in buckets, or by a sampler.

Begin with sampling.py. Order (../order.py) distributes the sequence of an epoch over ranks and workers;
copies.py makes several copies of a sample differ in their random parameters.
"""
