"""Screens that commands draw in a terminal."""
