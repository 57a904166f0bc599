"""The console of the cache servers, in the admin and the API."""
