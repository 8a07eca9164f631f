"""Define studies: their settings, the combinations of factor levels, and the runs."""
