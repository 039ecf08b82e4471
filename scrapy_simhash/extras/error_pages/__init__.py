"""Recognize error pages that a site serves with status 200."""
