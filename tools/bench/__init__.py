"""Benchmarks: our figure beside what a user would do otherwise, in one run, on servers of its own.

Ratios are what to trust; absolute times belong to the machine. Run with `./run bench`.
"""
