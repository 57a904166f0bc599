"""Webhooks: sends messages about an account's notifications and posts to servers of programs."""
