"""Define the columns of results, store tables of results, and compute the metrics of runs."""
