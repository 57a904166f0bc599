"""`./run house`: the size of the code and the names of its modules, beside their bars (tools/house/report.py)."""
