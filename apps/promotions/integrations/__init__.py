"""The parts that the promotions app adds to the rest of the site through hooks (see `PromotionsConfig.ready`)."""
