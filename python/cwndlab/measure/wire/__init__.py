"""Exchange messages and data between the client and the server of a live measurement."""
