"""`./run house`: the size of the code and the names of its modules, beside the bars in docs/architecture.md."""
