"""On the path of a broken site's processes: Python looks here for `sitecustomize` when it starts."""
