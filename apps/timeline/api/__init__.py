"""The API's endpoints that show posts: `statuses` for single ones, `timelines` for lists of them."""
