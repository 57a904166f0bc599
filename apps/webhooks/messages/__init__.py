"""A message: its content, its signature, and how it is posted."""
