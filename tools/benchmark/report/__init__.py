"""The benchmark: its model, the runs, and the page with their results."""
