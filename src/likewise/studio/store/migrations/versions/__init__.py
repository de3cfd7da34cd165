"""One module per migration. Released migrations never change; add a new one instead."""
