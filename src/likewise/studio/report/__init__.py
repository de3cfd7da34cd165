"""The report of a project: one page that needs nothing besides, made from one record by one function."""

from likewise.studio.report._gather import DerivedResults, gather
from likewise.studio.report._page import content_security_policy, report_html
from likewise.studio.report._report_data import ReportData

__all__ = ["DerivedResults", "ReportData", "content_security_policy", "gather", "report_html"]
