"""Benchmarks that compare feedsite with the usual alternatives, in one run, on servers of their own.

Trust the ratios; absolute times depend on the machine. Run with `./run bench`.
"""
