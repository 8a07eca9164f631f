"""Client and server of live measurements: their protocol and the transfers between them."""
