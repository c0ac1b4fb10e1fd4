"""How `make docs` builds the guide: Sphinx, with Markdown pages and Markdown docstrings."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Steersman"
author = "the Steersman authors"
version = release = installed("steersman")
extensions = ["sphinx.ext.autodoc", "myst_parser", "markdown", "packages", "command_line", "configuration"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["strikethrough"]
#: Links name titles as `page.md#a-title`.
myst_heading_anchors = 4
exclude_patterns = ["_extensions"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
# A name that several packages export may be meant by a signature; any of its places explains it.
suppress_warnings = ["ref.python"]

html_theme = "alabaster"
html_title = "Steersman"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_show_copyright = False
html_copy_source = False
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_theme_options = {
    "description": "Kubernetes operators in Python",
    "fixed_sidebar": True,
    "page_width": "1180px",
    "sidebar_width": "250px",
    "show_powered_by": False,
}
