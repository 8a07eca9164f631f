"""Client and server of live measurements: their protocol, and transfers between them."""
