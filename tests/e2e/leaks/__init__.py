"""Ten principals with disjoint scopes try every route with what belongs to the others."""
