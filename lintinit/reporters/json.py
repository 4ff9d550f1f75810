"""Version 1 of the JSON form; ``schema.json`` beside this module describes it."""

from __future__ import annotations

import json
from typing import Any

from lintinit.finding import Finding
from lintinit.reporters.places import shown
from lintinit.run import Report

VERSION = 1


def render(report: Report) -> str:
    """The whole report as one JSON document, in ASCII: no terminal and no odd file name can break it."""
    document = {
        "version": VERSION,
        "findings": [_finding(finding) for finding in report.findings],
        "errors": [{"path": shown(e.path), "line": e.line, "message": e.message} for e in report.errors],
        "summary": {
            "files": report.files,
            "parsed": report.parsed,
            "errors": report.count("error"),
            "warnings": report.count("warning"),
            "fixable": 0,
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    at = finding.position
    return {
        "path": shown(finding.path),
        "line": at.line,
        "column": at.column,
        "end_line": at.end_line,
        "end_column": at.end_column,
        "rule": finding.rule,
        "code": finding.code,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        "attribute": finding.attribute,
        "owner": finding.owner,
        "class": finding.class_name,
        "dtype": finding.dtype,
        "role": finding.role,
        "labels": [
            {
                "path": shown(label.path),
                "line": label.position.line,
                "end_line": label.position.end_line,
                "text": label.text,
            }
            for label in finding.labels
        ],
        "fix": None,
        "suppressed": finding.suppressed,
    }
