"""The parts of requests that pages, endpoints and the admin share: the viewer, the second factor, errors, request ids.

More middleware is in `feedsite.middleware`.
"""
