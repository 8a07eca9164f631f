"""Running: tasks, the campaign that works them off, its progress."""
