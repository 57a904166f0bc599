"""Django's database backend for PostgreSQL, with a cheaper test of the connections of its pool."""
