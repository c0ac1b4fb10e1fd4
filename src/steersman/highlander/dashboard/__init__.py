"""The dashboard: one page, one style sheet, one script; served by `api.pages`, fed by `/api/events`."""
