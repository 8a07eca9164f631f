"""Define studies: their documents, runs, descriptions, and combinations of factor levels."""
