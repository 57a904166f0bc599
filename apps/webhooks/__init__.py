"""Webhooks: sends an account's notifications, and what happens to its posts, to servers of programs."""
