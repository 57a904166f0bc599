"""Refusing sign-ups: blocks that staff set, and limits during a wave."""
