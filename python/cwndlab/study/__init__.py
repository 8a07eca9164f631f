"""Define studies: their documents, their combinations of factor levels, their descriptions."""
