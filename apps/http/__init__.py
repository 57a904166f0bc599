"""What pages, endpoints and staff pages share of requests: who asks, the second factor, errors, request ids.

The middleware is in `feedsite.middleware`, except the one that sets `request.user` (`authentication`).
"""
