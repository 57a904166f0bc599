"""The data of the API: entities, each with the function that builds it, and serializers for request bodies."""
