"""Charts, tables and screens that commands draw in a terminal."""
