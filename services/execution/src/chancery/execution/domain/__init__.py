"""Selection without a model: clauses, words, and which sentence or measure answers which."""
