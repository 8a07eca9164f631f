"""What a notebook or a program calls: studies, results and their pictures."""
