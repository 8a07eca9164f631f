"""Run studies: divide them into tasks, compute the tasks, store results, and show progress."""
