"""Middleware, one concern per module; settings.MIDDLEWARE has the order."""
