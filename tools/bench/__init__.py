"""Benchmarks: feedsite beside the usual alternative, in one run, on the benchmark's own servers.

Trust the ratios; absolute times depend on the machine. Run with `./run bench`.
"""
