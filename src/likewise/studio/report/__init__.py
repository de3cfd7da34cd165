"""The report of a project: one page that needs nothing besides, made from one record by one function."""

from likewise.studio.report._gather import DerivedResults, gather
from likewise.studio.report._page import get_content_security_policy, make_report
from likewise.studio.report._report_data import ReportData

__all__ = ["DerivedResults", "ReportData", "gather", "get_content_security_policy", "make_report"]
