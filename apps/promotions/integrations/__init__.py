"""What promotions add to the rest of the site: by its hooks, in `PromotionsConfig.ready`."""
