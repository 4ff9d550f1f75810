"""Version 1 of the JSON form; ``schema.json`` beside this module describes it."""

from __future__ import annotations

import json
from typing import Any

from lintinit.finding import Finding
from lintinit.remedy import Fix, Remedy
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
            "fixable": sum(isinstance(f.remedy, Fix) and not f.suppressed for f in report.findings),
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
        "fix": _fix(finding.remedy),
        "suppressed": finding.suppressed,
    }


def _fix(remedy: Remedy | None) -> dict[str, Any] | None:
    if not isinstance(remedy, Fix):
        return None
    edits = [
        {
            "line": edit.position.line,
            "column": edit.position.column,
            "end_line": edit.position.end_line,
            "end_column": edit.position.end_column,
            "text": edit.text,
        }
        for edit in remedy.edits
    ]
    return {"title": remedy.title, "safety": remedy.safety, "edits": edits}
