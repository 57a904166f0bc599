"""Measures what people experience in a real browser: accessibility, weight, stability, speed, a newcomer's first day.

Run with `./run vitals`; a short set runs with the tests.
"""
