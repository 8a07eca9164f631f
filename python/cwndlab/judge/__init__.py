"""Judge which congestion control algorithm is better, by how much, and with which certainty."""
