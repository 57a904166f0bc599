"""Benchmarks: feedsite beside the usual alternative, in one run, on servers of the benchmark's own.

Trust the ratios; absolute times depend on the machine. Run with `./run bench`.
"""
