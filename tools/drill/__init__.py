"""`./run drill`: puts load and faults on a separate site, and checks the results."""
