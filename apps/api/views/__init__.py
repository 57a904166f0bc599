"""The endpoints, with one module for each group of resources."""
