"""The report of a project: one self-contained HTML page, made from one record."""

from likewise.studio.report._gather import DerivedResults, ReportData, gather
from likewise.studio.report._page import get_content_security_policy, make_report

__all__ = ["DerivedResults", "ReportData", "gather", "get_content_security_policy", "make_report"]
