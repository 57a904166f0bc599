"""Refuses sign-ups: those that staff have blocked, and those beyond a limit during a wave."""
