"""What the API sends and takes: entities, each with the function that builds it, and serializers of bodies."""
