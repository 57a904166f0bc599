"""What happens, told to clients at once: server-sent events and WebSockets, in a process of its own."""
