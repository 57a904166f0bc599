"""Accounts, relationships, filters, reports."""
