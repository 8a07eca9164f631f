"""Judge which congestion control algorithm is better, by how much, and how certain this is."""
