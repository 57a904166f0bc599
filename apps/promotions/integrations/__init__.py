"""The parts that promotions add to the rest of the site through its hooks (see `PromotionsConfig.ready`)."""
