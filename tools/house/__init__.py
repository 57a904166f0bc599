"""`./run house`: the size of the code and the names of its modules, compared with limits (tools/house/report.py)."""
