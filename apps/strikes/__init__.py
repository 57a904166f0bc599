"""Moderation by a team: the queue of reports, strikes with a text to the person, appeals, notes, a log of what staff do."""
