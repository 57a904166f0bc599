"""`./run house`: the size of the code and the words of its modules, beside the bars that docs/architecture.md sets."""
