"""Webhooks: sends messages about an account's notifications and posts to servers that programs or people name."""
