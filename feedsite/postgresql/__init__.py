"""Django's database backend for PostgreSQL, with a cheaper test of pooled connections."""
