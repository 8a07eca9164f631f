"""Define studies: their documents, combinations of factor levels, runs and descriptions."""
