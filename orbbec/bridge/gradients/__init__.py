"""Gradients that several families of operators share."""
