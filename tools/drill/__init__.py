"""`./run drill`: puts load and faults on a site of its own, and checks the results."""
