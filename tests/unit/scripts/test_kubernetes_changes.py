"""What the script prints about two versions of the published types."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]

OLD: dict[str, Any] = {
    "a.Gone": {},
    "a.Kept": {
        "required": ["list"],
        "properties": {
            "gone": {"type": "string"},
            "list": {"type": "array", "items": {"type": "string"}},
            "phase": {"type": ["string", "null"], "enum": ["A", "B"]},
            "ref": {"$ref": "#/$defs/a.Gone"},
        },
    },
}
NEW: dict[str, Any] = {
    "a.Kept": {
        "properties": {
            "list": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
            "new": {"type": "object", "additionalProperties": {"$ref": "#/$defs/a.New"}},
            "phase": {"type": ["string", "null"], "enum": ["A", "C"]},
            "ref": {"$ref": "#/$defs/a.Gone"},
        },
    },
    "a.New": {},
}


def test_new_removed_and_changed_types_and_fields_are_printed(tmp_path: Path) -> None:
    for name, definitions in (("old", OLD), ("new", NEW)):
        (tmp_path / name).write_text(json.dumps({"$defs": definitions}))
    script = ROOT / "scripts" / "kubernetes_changes.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "old", tmp_path / "new"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "- a.Gone",
        "+ a.New",
        "- a.Kept.gone",
        "+ a.Kept.new: map of New",
        "~ a.Kept.list: list of string is list of integer",
        "~ a.Kept.list: x-kubernetes-list-type None is set",
        "~ a.Kept.list: no longer required",
        "- a.Kept.phase=B",
        "+ a.Kept.phase=C",
    ]
