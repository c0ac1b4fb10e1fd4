"""Responses: objects, lists, Tables and Status as the media type the client accepts."""
