"""Explain why a post is on a home page or not: the reasons, the annotated page, the checklist."""
