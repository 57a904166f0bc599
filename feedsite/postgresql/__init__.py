"""Django's PostgreSQL backend, with a cheaper test of pooled connections."""
