"""The verbs that read: get, list and watch, with their label and field selectors."""
