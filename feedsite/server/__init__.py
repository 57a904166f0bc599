"""Code of the server processes: granian's adapter for Django, shared imports, and beat's clock."""
