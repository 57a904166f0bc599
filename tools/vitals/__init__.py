"""What people meet in their browser, measured in a real one: accessibility, weight, stability, speed, and a newcomer's
way.

Run with `./run vitals`; a short set runs with the tests.
"""
