"""Benchmarks: cases, contenders, timing, and records of runs."""
