"""A transducer head for the digit model."""
