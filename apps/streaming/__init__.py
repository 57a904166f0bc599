"""Streams of events for clients: server-sent events and WebSockets, from a process of its own."""
