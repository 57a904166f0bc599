"""Moderation by a team: the queue of reports, strikes that people can appeal against, notes, and a log."""
