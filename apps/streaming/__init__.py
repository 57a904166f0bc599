"""Streams of events for clients: server-sent events and WebSockets, served by a separate process."""
