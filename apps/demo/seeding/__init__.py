"""Lays the demo: people, then the graph, posts, reactions, counts; everything in one transaction."""
