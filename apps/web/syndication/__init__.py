"""Syndication."""
