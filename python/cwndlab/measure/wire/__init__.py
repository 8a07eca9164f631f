"""The wire: client and server, what they say to each other, and the transfers between them."""
