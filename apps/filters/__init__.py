"""Filters: words and posts that a reader wants to be warned of, or not to see. They change nothing for anybody else."""
