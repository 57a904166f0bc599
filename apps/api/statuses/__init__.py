"""Statuses."""
