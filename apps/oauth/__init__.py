"""OAuth 2: applications, their tokens and scopes."""
