"""Color steps: a header each, listed in steps.h, and their gradients."""
