"""Judge which algorithm is better, by how much, and with what certainty."""
