"""Code followed as if it ran: what state an object has after construction, who filled it, and who uses it."""
