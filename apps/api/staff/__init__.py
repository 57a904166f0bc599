"""Endpoints for staff."""
