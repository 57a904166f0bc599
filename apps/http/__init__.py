"""Code for the requests of pages, endpoints and the admin: the viewer, the second factor, errors, request ids.

More middleware is in `feedsite.middleware`.
"""
