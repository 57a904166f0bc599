"""Backups of a site: its database, its files and its keys, in one folder (docs/backup.md)."""
