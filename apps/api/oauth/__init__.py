"""OAuth 2 endpoints."""
