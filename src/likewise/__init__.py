"""likewise groups data the way people mean it, from the little that they can tell."""
