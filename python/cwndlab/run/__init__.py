"""Running studies: tasks, the campaign that runs them, and its progress."""
