"""Explain the peak of a plan from its metadata."""

from usmp.report.explanation.document import explanation_document as explanation_document
from usmp.report.explanation.document import explanation_json as explanation_json
from usmp.report.explanation.markdown import explanation_markdown as explanation_markdown
from usmp.report.explanation.text import explanation_text as explanation_text
from usmp.report.explanation.text import print_explanation as print_explanation
