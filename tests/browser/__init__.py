"""The studio in a real browser. A package, so that the tests share one browser, which ends with them."""
