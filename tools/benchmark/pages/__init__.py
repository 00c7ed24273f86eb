"""What the pages of `report` and `soak` share: arguments, programs, the model, tables, figures."""
