"""JSON entities, each with the function that builds it."""
